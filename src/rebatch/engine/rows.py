"""Sums over the row under way: what a policy is told of it when it ends."""

from dataclasses import dataclass

from torch import Tensor

from rebatch.engine.gauges import NoiseSample


@dataclass
class RowSums:
    """The loss and the gradient noise of one row, and of nothing before it."""

    loss: float = 0.0
    samples: int = 0
    signal: Tensor | float = 0.0
    variance: Tensor | float = 0.0
    """Sums of unbiased estimates, on the device until they are asked for."""

    def measure(self, sample: NoiseSample | None) -> None:
        """Take in a measured update, without reading anything from the device."""
        if sample is None or sample.big_size <= sample.small_size:
            return
        self.signal = self.signal + sample.signal
        self.variance = self.variance + sample.variance

    def finish_epoch(self, loss: float, samples: int) -> None:
        """Take in the summed loss of an epoch."""
        self.loss += loss
        self.samples += samples

    @property
    def mean_loss(self) -> float:
        """The loss averaged over the samples of the finished epochs."""
        return self.loss / self.samples

    @property
    def noise_scale(self) -> float | None:
        """The ratio of the sums, tr(Σ)/|G|²; none where it could not be told from the noise."""
        signal = float(self.signal)
        return max(0.0, float(self.variance) / signal) if signal > 0 else None

    def values(self) -> dict[str, float]:
        """Return everything as plain numbers."""
        return {**vars(self), "signal": float(self.signal), "variance": float(self.variance)}
