"""What a run is made of."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rebatch import Plan, Policy
from rebatch._course import Course
from rebatch.engine.learner import Learner
from rebatch.engine.snapshots import snapshot_updates
from rebatch.engine.state import Progress
from rebatch.records import RunFolder

Record = dict[str, Any]
Listener = Callable[[Record], None]
Watch = Callable[[Progress, float], None]
Rate = Callable[[float, Sequence[float]], float]
"""The learning rate at a position in epochs, given the selecting metric of the epochs so far."""


@dataclass
class Job:
    """Everything a run needs, ready to train."""

    learner: Learner
    plan: Plan
    rate: Rate
    folder: RunFolder
    identity: Mapping[str, Any] = field(default_factory=dict)
    """What makes it the same run: a checkpoint of another one is refused."""
    snapshots: dict[int, int] = field(default_factory=dict)
    """After how many updates a snapshot is due, and its number."""
    momentum: float = 0.0
    log_every: int = 200
    """Updates between two lines of the log; the same updates measure the gradient noise."""
    checkpoint_every: float = 60.0
    """Seconds between checkpoints."""
    listeners: Sequence[Listener] = ()
    """Called with every record of the log."""
    watch: Watch = lambda progress, rate: None
    """Called after every update with its rate; must not read anything from the device."""

    course: Course | None = None
    """What the plan is part of, where a policy makes it, or once made it."""
    policy: Policy | None = None
    """Who makes the plan while it is trained."""
    due: Callable[[Plan], dict[int, int]] = snapshot_updates
    """The snapshots of a plan so far."""
    _counted: tuple[Plan, int, int] | None = field(default=None, init=False, repr=False)
    """A plan, an epoch of it and the updates in that: asked for at every update."""

    def rate_of(self, progress: Progress, update: int) -> float:
        """Return the rate of an update, counted from the start of the epoch under way."""
        position = progress.epoch + update / self._updates_in(progress.epoch)
        rate = self.rate(position, progress.history)
        if self.course is None:
            return rate
        first = progress.update - progress.done
        return rate * self.course.rate_factor(first + update)

    def _updates_in(self, epoch: int) -> int:
        known = self._counted
        if known is None or known[0] is not self.plan or known[1] != epoch:
            known = self._counted = (self.plan, epoch, self.plan.updates_in(epoch))
        return known[2]

    def measures(self, progress: Progress) -> bool:
        """Tell whether the next update measures the gradient noise, beside those of the log."""
        return self.course is not None and self.course.measures(progress.update)

    def follow(self, course: Course) -> None:
        """Go on with a course that has grown."""
        self.learner.task.follow(course.plan)
        self.course, self.plan = course, course.plan
        self.snapshots = self.due(course.plan)
