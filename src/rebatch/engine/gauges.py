"""Gauges of a run: the gradient noise scale, gradient norms and how often they are clipped."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn


class NoiseSample(NamedTuple):
    """Two squared gradient norms of one update, at two batch sizes.

    They stay on the device until they are read, in double precision, so that what is computed
    from them does not depend on when that is.
    """

    small_size: float
    small_norm: Tensor | float
    """Mean squared norm over the micro-batches."""
    big_size: float
    big_norm: Tensor | float

    @property
    def signal(self) -> Tensor | float:
        """Unbiased |G|²: (B·|G_B|² − b·|G_b|²) / (B − b)."""
        gain = self.big_size * self.big_norm - self.small_size * self.small_norm
        return gain / (self.big_size - self.small_size)

    @property
    def variance(self) -> Tensor | float:
        """Unbiased tr(Σ): (|G_b|² − |G_B|²) / (1/b − 1/B)."""
        return (self.small_norm - self.big_norm) / (1 / self.small_size - 1 / self.big_size)


@dataclass
class GradientNoise:
    """The gradient noise scale tr(Σ)/|G|² (McCandlish et al., 2018) from micro-batches.

    Each estimate is unbiased, their ratio is not: so both are averaged over updates first, with
    weight ``1 − decay`` for the newest and corrected for the start.
    """

    decay: float = 0.9
    signal: Tensor | float = 0.0
    variance: Tensor | float = 0.0
    weight: float = 0.0

    def add(self, sample: NoiseSample | None) -> None:
        """Take in one measured update, without reading anything from the device.

        There is none where the update was a single micro-batch.
        """
        if sample is None or sample.big_size <= sample.small_size:
            return
        self.signal = self.decay * self.signal + (1 - self.decay) * sample.signal
        self.variance = self.decay * self.variance + (1 - self.decay) * sample.variance
        self.weight = self.decay * self.weight + (1 - self.decay)

    @property
    def scale(self) -> float | None:
        """The noise scale in samples, or none while it cannot be told; waits for the device."""
        signal = float(self.signal)
        if self.weight == 0 or signal <= 0:
            return None
        return max(0.0, float(self.variance) / signal)

    def values(self) -> dict[str, float]:
        """Return everything as plain numbers."""
        return {name: float(value) for name, value in vars(self).items()}


class MicroGradients:
    """The gradients of an update's micro-batches, kept apart to see the norm of each."""

    def __init__(self, model: nn.Module) -> None:
        self._model = model
        self._sums: dict[nn.Parameter, Tensor] = {}
        self._norms: list[Tensor] = []
        self._sizes: list[int] = []

    def take(self, size: int, share: float) -> None:
        """Take away the gradient of a micro-batch, whose loss was weighted by ``share``."""
        own = {p: p.grad for p in self._model.parameters() if p.grad is not None}
        self._norms.append(squared_norm(list(own.values())) / share**2)
        self._sizes.append(size)
        for parameter, gradient in own.items():
            known = self._sums.get(parameter)
            self._sums[parameter] = gradient if known is None else known.add_(gradient)
            parameter.grad = None

    def put_back(self) -> None:
        """Give the parameters the gradient of the whole update."""
        for parameter, gradient in self._sums.items():
            parameter.grad = gradient

    def sums(self) -> list[Tensor | float]:
        """Return what ranks add up to sample together: norms, micro-batches and 1 / sizes."""
        norms = torch.stack(self._norms).sum() if self._norms else 0.0
        return [norms, float(len(self._sizes)), sum(1 / size for size in self._sizes)]

    def sample(self, norm: Tensor) -> NoiseSample:
        """Return the norms of the update, given that of its whole gradient.

        With micro-batches of different sizes the small size is their harmonic mean, because the
        expected squared norm of a gradient is |G|² + tr(Σ)/b.
        """
        harmonic = len(self._sizes) / sum(1 / size for size in self._sizes)
        small = torch.stack(self._norms).mean().double()
        return NoiseSample(harmonic, small, float(sum(self._sizes)), norm.double().square())


def sample_of_ranks(sums: Tensor, total: int, norm: Tensor) -> NoiseSample | None:
    """Return the norms of an update of ``total`` samples from the added `MicroGradients.sums`."""
    norms, count, inverse = sums.tolist()
    if count < 2:
        return None
    return NoiseSample(count / inverse, norms / count, float(total), norm.double().square())


def squared_norm(gradients: Sequence[Tensor]) -> Tensor:
    """Return the squared norm of all gradients together."""
    return torch.stack(torch._foreach_norm(list(gradients))).square().sum()
