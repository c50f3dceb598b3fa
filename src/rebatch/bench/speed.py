"""Speeds of one cell, and what follows from them."""

from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Speed:
    """What was measured of one cell; speeds are updates a second, round by round."""

    model: str
    batch_size: int
    asked: float | None
    against: str
    """The plain loop that the asked ratio is against."""
    engine: str
    """How our updates are made."""
    precision: str
    updates_in_epoch: int
    rounds: dict[str, list[float]]
    memory: dict[str, float] = field(default_factory=dict)
    """Bytes that each loop made the device set aside at most, where that can be told."""
    graphs: int = 0
    capture_seconds: float = 0.0
    warm_up_seconds: float = 0.0
    """What the first updates took beyond their usual time: capturing, compiling, tuning."""
    flops: float = 0.0
    bytes: float = 0.0
    limit: float = 0.0
    """Updates a second of the roofline."""

    def best(self, loop: str) -> float | None:
        """The best round of a loop, in updates a second."""
        return max(self.rounds[loop]) if loop in self.rounds else None

    def epoch_seconds(self, loop: str) -> float | None:
        """Seconds an epoch at the best round."""
        best = self.best(loop)
        return None if best is None else self.updates_in_epoch / best

    def ratio(self, loop: str, ours: str = "ours") -> float | None:
        """How many times as fast as another loop ours is; both by their best rounds."""
        own, other = self.best(ours), self.best(loop)
        return own / other if own and other else None

    @property
    def resident_ratio(self) -> float | None:
        """The ratio with the data on the device in both."""
        own, other = (
            f"{name}_resident" if f"{name}_resident" in self.rounds else name
            for name in ("ours", "plain")
        )
        return self.ratio(other, own)

    @property
    def is_met(self) -> bool | None:
        """Whether the asked ratio is reached; none where nothing is asked."""
        ratio = self.ratio(self.against)
        return None if self.asked is None or ratio is None else ratio >= self.asked

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as JSON-ready values, with what follows from them."""
        return {
            **asdict(self),
            "updates_per_second": {name: self.best(name) for name in self.rounds},
            "epoch_seconds": {name: self.epoch_seconds(name) for name in self.rounds},
            "ratio": self.ratio(self.against),
            "resident_ratio": self.resident_ratio,
            "met": self.is_met,
        }
