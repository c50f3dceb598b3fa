"""What the gauges of an adaptive run cost: updates that measure the noise beside those that do not.

A cycle of AUTO is gone through, an epoch at each of its sizes, with as many updates measured as
there would be in a run.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from rebatch import auto
from rebatch._course import Course
from rebatch.bench.cells import Cell
from rebatch.bench.clock import Loop, Tell, take_turns
from rebatch.bench.ours import Ours, ours_at
from rebatch.recipes import Recipe, case, override

ALLOWED = 0.03
"""The share of training time that the gauges may take."""
FACTORS = (1, 2, 4, 8)
"""The sizes of a cycle of AUTO, in units of its base."""
ROUNDS = 3
KINDS = {"plain": False, "measured": True}
"""Whether the updates of each kind measure the noise."""


@dataclass(frozen=True)
class Gauged:
    """An epoch at one batch size under AUTO."""

    batch_size: int
    updates: int
    """In an epoch of the official amount of data."""
    measured: int
    """So many of them measure the noise."""
    plain_seconds: float
    """Of an update that measures nothing."""
    measured_seconds: float

    @property
    def plain(self) -> float:
        """Seconds of the epoch without gauges; evaluation is not counted."""
        return self.updates * self.plain_seconds

    @property
    def extra(self) -> float:
        """Seconds that the gauges add to it; below 0 where two halves are sooner done."""
        return self.measured * (self.measured_seconds - self.plain_seconds)


def share_of(epochs: Sequence[Gauged]) -> float:
    """Return what the gauges add to the time of all epochs, as a share of it without them."""
    return sum(epoch.extra for epoch in epochs) / sum(epoch.plain for epoch in epochs)


def measure_gauges(
    device: torch.device,
    *,
    model: str,
    seconds: float = 1.0,
    rounds: int = ROUNDS,
    share: float = 1.0,
    engine: str = "auto",
    settings: tuple[str, ...] = (),
    tell: Tell = lambda what: None,
) -> list[Gauged]:
    """Time both kinds of updates at every size of a cycle, in turns; the best of the rounds count.

    Batch norm keeps the groups of the base, as it does in a run.
    """
    found = []
    for factor in FACTORS:
        recipe = override(_recipe(model, factor), settings)
        with ours_at(recipe, device=device, share=share, engine=engine) as ours:
            ours.job.log_every = ours.job.plan.updates + 1
            both: dict[str, Loop] = {
                f"{kind} at {recipe.baseline_batch_size}": _Turns(ours, measure=measure)
                for kind, measure in KINDS.items()
            }
            speeds = take_turns(both, seconds=seconds, rounds=rounds, tell=tell)
        times = [1 / max(each) for each in speeds.values()]
        found.append(Gauged(recipe.baseline_batch_size, *counts(recipe), *times))
    return found


def counts(recipe: Recipe) -> tuple[int, int]:
    """Return the updates of an epoch at the recipe's size, and how many AUTO measures.

    >>> counts(_recipe("C1", 1)), counts(_recipe("L1", 8))
    ((391, 9), (332, 8))
    """
    amount = case(recipe, "BL").plan().amount
    course = Course.begun(auto(recipe.baseline_batch_size), amount, 1)
    updates = range(course.plan.updates)
    logged = recipe.log_every
    return len(updates), sum(course.measures(u) or (u + 1) % logged == 0 for u in updates)


def _recipe(model: str, factor: int) -> Recipe:
    base = Cell(model, 1).recipe.cyclical_batch_size
    recipe = Cell(model, base * factor).recipe
    return replace(recipe, norm_batch_size=recipe.norm_batch_size or base)


class _Turns:
    """A loop whose updates all measure the noise, or none."""

    def __init__(self, ours: Ours, *, measure: bool) -> None:
        self._ours, self._learner, self._measure = ours, ours.job.learner, measure
        self._update = self._learner.update

    def turn(self, updates: int) -> float:
        def update(*given: Any, measure: bool) -> Any:
            return self._update(*given, measure=self._measure)

        learner: Any = self._learner
        learner.update = update
        return self._ours.turn(updates)
