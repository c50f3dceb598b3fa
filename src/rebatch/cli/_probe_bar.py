"""What one sees while a probe trains: one bar over all of its branches."""

import time
from typing import TYPE_CHECKING, Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

if TYPE_CHECKING:
    from rebatch import Plan
    from rebatch.engine.job import Watch
    from rebatch.engine.state import Progress as RunProgress
    from rebatch.probe import Design


class ProbeBar:
    """A bar over the epochs of warm-up and branches, so that all batch sizes weigh alike."""

    def __init__(self, design: "Design", *, console: Console | None = None) -> None:
        screen = console or Console(stderr=True)
        self._warm_up = design.warm_up
        self._bar = Progress(
            TextColumn(design.recipe.name),
            BarColumn(bar_width=20),
            TaskProgressColumn(),
            TextColumn("{task.description}"),
            TimeRemainingColumn(),
            console=screen,
            transient=True,
            disable=not screen.is_terminal,
        )
        self._task = self._bar.add_task("", total=design.cost.epochs)
        self._behind, self._drawn = 0.0, 0.0

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._bar.stop()

    def follow(self, label: str, plan: "Plan") -> "Watch":
        """Return what moves the bar along one part, at most ten times a second."""
        first = 0 if plan.epochs <= self._warm_up else self._warm_up
        before, self._behind = self._behind, self._behind + plan.epochs - first
        self._bar.update(self._task, description=label)

        def watch(progress: "RunProgress", rate: float) -> None:
            now = time.monotonic()
            if now - self._drawn < 0.1:
                return
            self._drawn = now
            here = progress.epoch + progress.done / plan.updates_in(progress.epoch)
            self._bar.update(self._task, completed=before + here - first)

        return watch
