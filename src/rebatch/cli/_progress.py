"""What one sees while a run trains: where it is, how fast, how long still."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import TYPE_CHECKING, Self

from rich.console import Console, RenderableType
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text

if TYPE_CHECKING:
    from rebatch.engine.job import Job
    from rebatch.engine.state import Progress as RunProgress


def counter() -> Progress:
    """Return a bar over things that are counted: what is on, how many are done, since when."""
    screen = Console(stderr=True)
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(20),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=screen,
        transient=True,
        disable=not screen.is_terminal,
    )


@contextmanager
def steps(total: int) -> Iterator[Callable[[str], None]]:
    """Show a bar over so many steps, and give what is to be told the name of each as it begins."""
    with counter() as bar:
        task, done = bar.add_task("", total=total), count()
        yield lambda what: bar.update(task, description=what, completed=next(done))


class _TwoLines(Progress):
    """The bar, and below it what it stands at: both fit 80 columns."""

    def get_renderables(self) -> Iterator[RenderableType]:
        for task in self.tasks:
            yield self.make_tasks_table([task])
            yield Text(task.fields["state"], overflow="ellipsis", no_wrap=True)


class TrainingBar:
    """A bar over the samples of a run, so that large and small batches weigh alike."""

    def __init__(self, label: str, *, console: Console | None = None) -> None:
        self._label = label
        screen = console or Console(stderr=True)
        self._bar = _TwoLines(
            TextColumn("{task.description}"),
            BarColumn(bar_width=20),
            TaskProgressColumn(),
            TimeRemainingColumn(),
            console=screen,
            transient=True,
            disable=not screen.is_terminal,
        )

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._bar.stop()

    def follow(self, job: "Job") -> Callable[["RunProgress", float], None]:
        """Start a bar for a job and return what moves it, at most ten times a second."""
        task = self._bar.add_task(self._label, total=_samples(job), state="")
        seen = [0.0, -1.0]

        def watch(progress: "RunProgress", rate: float) -> None:
            now = time.monotonic()
            if now - seen[0] < 0.1 and progress.update < job.plan.updates:
                return
            samples = job.plan.sample_at(progress.update)
            if seen[1] < 0:
                seen[1] = samples
                self._bar.reset(task, completed=samples)
            seen[0] = now
            self._bar.update(task, completed=samples, state=self._state(job, progress, rate, task))

        return watch

    def _state(self, job: "Job", progress: "RunProgress", rate: float, task: object) -> str:
        row = job.plan.rows[job.plan.row_at(progress.update - 1)]
        speed = next(each.speed for each in self._bar.tasks if each.id == task) or 0.0
        epochs, why = job.plan.epochs, ""
        if job.policy is not None and job.course is not None:
            epochs, why = job.course.epochs, f"\n{job.course.reason}"
        return (
            f"epoch {progress.epoch + 1}/{epochs:g} · batch {row.batch_size} · "
            f"cycle {row.cycle + 1} · rate {rate:.3g} · {speed:,.0f} samples/s{why}"
        )


def _samples(job: "Job") -> int:
    """Return the samples of the run, where a policy plans it those of its budget of epochs."""
    if job.policy is None or job.course is None:
        return job.plan.samples
    return job.course.epochs * job.plan.examples
