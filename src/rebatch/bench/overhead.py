"""What the loop itself costs: schedule, plan, sampler and records, beside the update they serve.

The real loop trains, with a stopwatch around the calls it makes; so nothing is left out, and
what is in none of the calls is the loop's own.
"""

import cProfile
import pstats
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch

from rebatch.bench.cells import Cell
from rebatch.bench.clock import Tell
from rebatch.bench.ours import Ours, ours_at
from rebatch.engine import loop
from rebatch.engine.state import Progress, Tally
from rebatch.recipes import override
from rebatch.records import LineLog

ALLOWED = 0.01
"""The share of an update that schedule, plan, sampler and records may take together."""
UPDATE, CHECK, SAMPLER, OWN = "update", "waiting for the loss", "sampler", "the loop's own"
NOT_OURS = (UPDATE, CHECK)
"""The arithmetic, and the look at its loss that waits until it is done."""


@dataclass(frozen=True)
class Overhead:
    """Microseconds of an update, part by part, and what a profile says beside it."""

    parts: dict[str, float]
    profile: list[tuple[str, float, float]]
    """Functions of rebatch: name, calls an update, own microseconds an update as profiled."""

    @property
    def total(self) -> float:
        """Microseconds of an update, all in all."""
        return sum(self.parts.values())

    @property
    def share(self) -> float:
        """The part of it that is neither the arithmetic nor waiting for it."""
        return 1 - sum(self.parts[name] for name in NOT_OURS) / self.total


def measure_overhead(
    device: torch.device,
    *,
    cell: Cell,
    updates: int = 200,
    rounds: int = 5,
    share: float = 1.0,
    engine: str = "auto",
    settings: tuple[str, ...] = (),
    tell: Tell = lambda what: None,
) -> Overhead:
    """Train a cell for so many updates: in rounds with stopwatches, then under a profiler.

    Of every part the best round counts, so that other programs do not.
    """
    recipe = override(cell.recipe, settings)
    with ours_at(recipe, device=device, share=share, engine=engine) as ours:
        tell("warming up")
        ours.turn(updates)
        found = []
        for number in range(1, rounds + 1):
            tell(f"round {number} of {rounds}")
            found.append(_parts(ours, updates))
        tell("profile")
        parts = {name: min(each[name] for each in found) for name in found[0]}
        return Overhead(parts, _profile(ours, updates))


def _parts(ours: Ours, updates: int) -> dict[str, float]:
    watch, job = _Stopwatch(), ours.job
    owners: tuple[tuple[str, Any, str], ...] = (
        (CHECK, Tally, "is_finite"),
        ("rate", job, "rate_of"),
        ("part of the rank", job.learner, "own_part"),
        ("tally", Progress, "add"),
        ("line of the log", loop, "line"),
        ("writing it", LineLog, "write"),
    )
    with ExitStack() as stack:
        for name, owner, call in owners:
            stack.enter_context(_replaced(owner, call, watch.around(name, getattr(owner, call))))
        learner, task = job.learner, job.learner.task
        stack.enter_context(_replaced(learner, "update", watch.between(learner.update)))
        stack.enter_context(_replaced(task, "batches", watch.each(task.batches)))
        total = 1e6 * ours.turn(updates) / updates
    # The updates that warm up are watched too.
    made = updates + ours.first_updates - 1
    parts = {
        name: 1e6 * watch.seconds[name] / made for name in (*(name for name, *_ in owners), SAMPLER)
    }
    between = 1e6 * watch.seconds[OWN] / made
    return {
        UPDATE: total - between,
        **parts,
        OWN: max(0.0, between - sum(parts.values())),
    }


class _Stopwatch:
    """Seconds spent in calls within epochs, by the name of the part; `OWN` is all but updates."""

    def __init__(self) -> None:
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self._left: float | None = None
        """When the last update was done, or the epoch began; none between epochs."""

    def around(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        """Return the call with the stopwatch around it."""

        def timed(*args: Any, **kwargs: Any) -> Any:
            if self._left is None:
                return call(*args, **kwargs)
            began = time.perf_counter()
            found = call(*args, **kwargs)
            self.seconds[name] += time.perf_counter() - began
            return found

        return timed

    def between(self, update: Callable[..., Any]) -> Callable[..., Any]:
        """Return the update with the stopwatch on what comes before it since the last one."""

        def timed(*args: Any, **kwargs: Any) -> Any:
            self._stop()
            outcome = update(*args, **kwargs)
            self._left = time.perf_counter()
            return outcome

        return timed

    def each(self, batches: Callable[[int, int], Iterator[Any]]) -> Callable[..., Iterator[Any]]:
        """Return the batches of an epoch with the stopwatch around each."""

        def timed(epoch: int, done: int) -> Iterator[Any]:
            self._left = time.perf_counter()
            yield from iter(self.around(SAMPLER, partial(next, batches(epoch, done), None)), None)
            self._stop()
            self._left = None

        return timed

    def _stop(self) -> None:
        if self._left is not None:
            self.seconds[OWN] += time.perf_counter() - self._left


@contextmanager
def _replaced(owner: Any, name: str, value: Any) -> Iterator[None]:
    """Give an object, a class or a module another attribute for a while."""
    known = vars(owner).get(name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        if known is None:
            delattr(owner, name)
        else:
            setattr(owner, name, known)


def _profile(ours: Ours, updates: int, most: int = 30) -> list[tuple[str, float, float]]:
    profiler = cProfile.Profile()
    profiler.enable()
    ours.turn(updates)
    profiler.disable()
    made = updates + ours.first_updates - 1
    found = []
    stats: Any = pstats.Stats(profiler)
    for (file, line, name), (_, calls, own, *_) in stats.stats.items():
        if "rebatch" in Path(file).parts:
            inside = "/".join(Path(file).parts[Path(file).parts.index("rebatch") + 1 :])
            found.append((f"{inside}:{line} {name}", calls / made, 1e6 * own / made))
    return sorted(found, key=lambda row: -row[2])[:most]
