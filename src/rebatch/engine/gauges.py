"""Gauges of a run: the gradient noise scale, gradient norms and how often they are clipped."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor


class NoiseSample(NamedTuple):
    """Two squared gradient norms of one update, at two batch sizes."""

    small_size: float
    small_norm: float
    """Mean squared norm over the micro-batches."""
    big_size: float
    big_norm: float

    @property
    def signal(self) -> float:
        """Unbiased |G|²: (B·|G_B|² − b·|G_b|²) / (B − b)."""
        gain = self.big_size * self.big_norm - self.small_size * self.small_norm
        return gain / (self.big_size - self.small_size)

    @property
    def variance(self) -> float:
        """Unbiased tr(Σ): (|G_b|² − |G_B|²) / (1/b − 1/B)."""
        return (self.small_norm - self.big_norm) / (1 / self.small_size - 1 / self.big_size)


@dataclass
class GradientNoise:
    """The gradient noise scale tr(Σ)/|G|² (McCandlish et al., 2018) from micro-batches.

    Each estimate is unbiased, their ratio is not: so both are averaged over updates first, with
    weight ``1 − decay`` for the newest and corrected for the start.
    """

    decay: float = 0.9
    signal: float = 0.0
    variance: float = 0.0
    weight: float = 0.0

    def add(self, sample: NoiseSample | None) -> None:
        """Take in one measured update; none where there was a single micro-batch."""
        if sample is None or sample.big_size <= sample.small_size:
            return
        self.signal = self.decay * self.signal + (1 - self.decay) * sample.signal
        self.variance = self.decay * self.variance + (1 - self.decay) * sample.variance
        self.weight = self.decay * self.weight + (1 - self.decay)

    @property
    def scale(self) -> float | None:
        """The noise scale in samples, or none while it cannot be told."""
        if self.weight == 0 or self.signal <= 0:
            return None
        return max(0.0, self.variance / self.signal)


def squared_norm(gradients: Sequence[Tensor]) -> Tensor:
    """Return the squared norm of all gradients together, in fp32."""
    norms = torch._foreach_norm([gradient.float() for gradient in gradients])
    return torch.stack(list(norms)).square().sum()
