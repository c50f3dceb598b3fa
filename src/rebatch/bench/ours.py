"""Our side of a measurement: the loop of `rebatch train`, records and all."""

import math
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

import torch

from rebatch.bench.backends import Backends
from rebatch.bench.clock import EpochClock, now
from rebatch.bench.generated import generate, write_vectors
from rebatch.engine.job import Job
from rebatch.engine.learner import Learner
from rebatch.engine.loop import train
from rebatch.engine.state import Progress
from rebatch.recipes import Case, Recipe, case
from rebatch.recipes._build import build
from rebatch.records import RunFolder


def make_job(
    made: Case, data: Any, *, device: torch.device, folder: Path, engine: str = "auto"
) -> Job:
    """Return a run of a case on data in memory, ready to train as `rebatch train` does."""
    if made.recipe.model == "E1":
        write_vectors(folder)
    built = build(made, seed=0, device=device, data_root=folder, data=data, engine=engine)
    return Job(
        built.learner,
        built.plan,
        made.rate_at,
        RunFolder(folder / "run"),
        momentum=made.recipe.momentum,
        log_every=made.recipe.log_every,
        checkpoint_every=math.inf,
    )


def captured(learner: Learner) -> tuple[int, float]:
    """Return how many CUDA graphs there are and the seconds they took; none where it is eager."""
    graphs = getattr(learner, "graphs", None)
    return (0, 0.0) if graphs is None else (graphs.captures, graphs.seconds)


class _Enough(Exception):
    """The updates of a turn are made."""


class Ours:
    """A run that starts anew for every turn, with what it has learnt and captured kept."""

    def __init__(self, job: Job) -> None:
        self.job, self._device = job, job.learner.device
        self._clock = EpochClock(job.learner.task, self._device)
        self._backends = Backends.now()
        self._warm = 6 if self._device.type == "cuda" else 1

    @property
    def first_updates(self) -> int:
        """How many updates a turn of one makes in all."""
        return self._warm + 1

    def turn(self, updates: int) -> float:
        """Make that many updates after some to warm up; evaluation is not counted."""
        self._backends.set()
        self._clock.restart()
        first, last = self._warm, self._warm + updates
        times: list[float] = []

        def watch(progress: Progress, rate: float) -> None:
            if progress.update in (first, last):
                times.append(self._clock.read())
            if progress.update == last:
                raise _Enough

        self.job.watch = watch
        try:
            self._train()
        except _Enough:
            return times[1] - times[0]

    def speed(self, seconds: float) -> float:
        """Return the updates a second over so many seconds, evaluation and all."""
        self._backends.set()
        began, made = 0.0, 0

        def watch(progress: Progress, rate: float) -> None:
            nonlocal began, made
            made = progress.update - self._warm
            if made == 0:
                began = now(self._device)
            elif made > 0 and time.perf_counter() - began > seconds:
                raise _Enough

        self.job.watch = watch
        try:
            self._train()
        except _Enough:
            return made / (now(self._device) - began)

    def _train(self) -> NoReturn:
        train(self.job)
        raise AssertionError("the plan ended within a turn")


@contextmanager
def ours_at(
    recipe: Recipe, *, device: torch.device, share: float = 1.0, engine: str = "auto"
) -> Iterator[Ours]:
    """Build a recipe at its one batch size, on a share of made-up data, for as long as it is used.

    The folder of its records is removed afterwards.
    """
    with tempfile.TemporaryDirectory() as folder:
        data = generate(recipe, share)
        yield Ours(
            make_job(case(recipe, "BL"), data, device=device, folder=Path(folder), engine=engine)
        )
