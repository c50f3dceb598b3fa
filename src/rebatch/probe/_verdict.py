"""What the branches say: up to which batch size doubling is free, and which cycle that suggests."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import mean, stdev
from typing import Any

from rebatch import cyclical
from rebatch.probe._design import Design

LEAST = 0.005
"""A difference below half a per cent of the base's loss is no difference."""
CYCLES = 3

Record = Mapping[str, Any]


@dataclass(frozen=True)
class Level:
    """The branches of one batch size."""

    batch_size: int
    updates: int
    losses: tuple[float | None, ...]
    """Of each repeat; none where the numbers were lost."""
    held_out: Mapping[str, float]
    """Mean losses on validation data, by name."""
    difference: float | None
    """Mean loss less that of the base."""
    free: bool

    @property
    def loss(self) -> float | None:
        """The mean over the repeats, if all of them kept their numbers."""
        return _mean(self.losses)


@dataclass(frozen=True)
class Verdict:
    """The critical batch size of a recipe at one point of its training."""

    design: Design
    levels: tuple[Level, ...]
    spread: float
    """Standard deviation between the repeats of the base, which differ in the data's order."""
    tolerance: float
    """How far above the base's loss a loss may lie to be no worse."""
    noise_scale: float | None
    """Gradient noise scale of the base's branches, in the units of batch sizes."""

    @property
    def critical(self) -> int:
        """The largest batch size up to which every doubling is free."""
        free = self.design.base
        for level in self.levels:
            if not level.free:
                break
            free = level.batch_size
        return free

    @property
    def is_least(self) -> bool:
        """Whether the tolerance is the least there is, and not the spread's."""
        return self.tolerance <= LEAST * abs(self.levels[0].loss or 0.0)

    @property
    def is_bound(self) -> bool:
        """Whether a larger size was tried and was not free."""
        return self.critical < self.levels[-1].batch_size

    @property
    def code(self) -> str:
        """The schedule that this suggests for the recipe."""
        return propose(self.design.base, self.critical, self.design.recipe.epochs)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON-ready values."""
        levels = [{**vars(level), "loss": level.loss} for level in self.levels]
        return {
            **self.design.describe(),
            "levels": levels,
            "spread": self.spread,
            "tolerance": self.tolerance,
            "gradient_noise_scale": self.noise_scale,
            "critical_batch_size": self.critical,
            "is_bound": self.is_bound,
            "proposed": self.code,
        }


def judge(design: Design, records: Sequence[Record], times: float = 2.0) -> Verdict:
    """Return what finished branches say; a loss within ``times`` the spread is no worse."""
    of_size = {size: [r for r in records if r["batch_size"] == size] for size in design.sizes}
    losses = {size: tuple(r["loss"] for r in found) for size, found in of_size.items()}
    base = _mean(losses[design.base])
    known = [loss for loss in losses[design.base] if loss is not None]
    spread = stdev(known) if len(known) > 1 else 0.0
    tolerance = max(times * spread, LEAST * abs(base or 0.0))
    levels = []
    for size, found in of_size.items():
        loss = _mean(losses[size])
        difference = None if loss is None or base is None else loss - base
        free = size == design.base or (difference is not None and difference <= tolerance)
        held_out = _held_out(found)
        updates = found[0]["updates"]
        levels.append(Level(size, updates, losses[size], held_out, difference, free))
    noise = _noise_scale(of_size[design.base])
    return Verdict(design, tuple(levels), spread, tolerance, noise)


def propose(base: int, critical: int, epochs: int) -> str:
    """Return a step for each free size, of such a width that the budget holds three cycles.

    With n = log2(critical / base) + 1 steps the width is epochs // 3n; where not even the first
    doubling is free there is nothing to cycle through.

    >>> propose(128, 512, epochs=90), propose(16, 16, epochs=40)
    ('CBS-10-3', 'BL')
    """
    steps = round(math.log2(critical / base)) + 1
    if steps < 2:
        return "BL"
    return str(cyclical(base, width=max(1, epochs // (CYCLES * steps)), steps=steps))


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return mean(known) if known and len(known) == len(values) else None


def _held_out(found: Sequence[Record]) -> dict[str, float]:
    known = [record.get("held_out", {}) for record in found]
    return {name: mean(each[name] for each in known) for name in known[0] if all(known)}


def _noise_scale(found: Sequence[Record]) -> float | None:
    """Return tr(Σ)/|G|², both averaged over the repeats before they are divided."""
    signal = sum(record.get("gradient_signal", 0.0) for record in found)
    variance = sum(record.get("gradient_variance", 0.0) for record in found)
    return max(0.0, variance / signal) if signal > 0 else None
