"""The training loss along a branch, and the one number it is judged by."""

from collections.abc import Sequence
from typing import NamedTuple

from torch import Tensor

from rebatch.engine.state import Progress


class Point(NamedTuple):
    """The loss of one update, measured on its samples before it learnt from them."""

    position: int
    """Samples of the branch behind it."""
    samples: int
    loss: float


class Curve:
    """Collects the losses of a branch without reading anything from the device on the way."""

    def __init__(self) -> None:
        self._sums: list[tuple[int, int, Tensor | float]] = []

    def watch(self, progress: Progress, rate: float) -> None:
        """Take in a finished update: what its epoch has summed up so far."""
        tally = progress.tally
        self._sums.append((progress.epoch, tally.samples, tally.loss))

    def points(self) -> list[Point]:
        """Return the losses one by one."""
        points: list[Point] = []
        epoch, samples, total, position = -1, 0, 0.0, 0
        for at, seen, summed in self._sums:
            if at != epoch:
                epoch, samples, total = at, 0, 0.0
            new, loss = seen - samples, float(summed) - total
            points.append(Point(position, new, loss / new))
            position, samples, total = position + new, seen, float(summed)
        return points


def reached(points: Sequence[Point]) -> float:
    """Return the loss that a branch reached: that of its second half, read off in the middle.

    A straight line is laid through the losses of the second half, each weighted by its samples.
    Their plain mean would not do: every loss is of weights from before its batch, so the larger
    the batch, the older the weights.

    >>> reached([Point(0, 10, 9.0), Point(10, 10, 8.0), Point(20, 10, 3.0), Point(30, 10, 2.0)])
    2.0
    """
    total = points[-1].position + points[-1].samples
    late = [point for point in points if 2 * point.position >= total]
    weight = sum(point.samples for point in late)
    loss = sum(point.samples * point.loss for point in late) / weight
    place = sum(point.samples * point.position for point in late) / weight
    spread = sum(point.samples * (point.position - place) ** 2 for point in late)
    if not spread:
        return loss
    along = (point.samples * (point.position - place) * (point.loss - loss) for point in late)
    return loss + sum(along) / spread * (0.75 * total - place)
