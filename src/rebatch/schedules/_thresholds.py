"""Sizes written out with the positions from which they hold."""

import math
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise

from rebatch.errors import InputError, positive_int, shown
from rebatch.schedules._schedule import Clock, Schedule, Stair

SUFFIXES = {"T": 10**12, "B": 10**9, "M": 10**6, "K": 10**3}


@dataclass(frozen=True, repr=False)
class thresholds(Schedule):
    """Use each size from its threshold on: Megatron's ``0:768 250B:1536``, falls allowed.

    >>> schedule = thresholds({0: 768, 250_000: 1536}, clock="samples")
    >>> schedule(249_999), schedule(250_000)
    (768, 1536)
    >>> str(schedule)
    '0:768 250K:1536'
    """

    points: tuple[tuple[int, int], ...]

    def __init__(
        self, points: Mapping[int, int] | Iterable[tuple[int, int]], *, clock: Clock = "epochs"
    ) -> None:
        pairs = points.items() if isinstance(points, Mapping) else points
        object.__setattr__(self, "points", _checked_points(pairs))
        object.__setattr__(self, "clock", clock)
        super().__post_init__()

    def stair(self, position: float) -> Stair:
        """Return the stretch between the thresholds around ``position``."""
        step = bisect_right(self.points, position, key=lambda point: point[0]) - 1
        last = step + 1 == len(self.points)
        end = math.inf if last else self.points[step + 1][0]
        return Stair(self.points[step][1], end, step=step)

    def __str__(self) -> str:
        return " ".join(f"{short(start)}:{size}" for start, size in self.points)


def _checked_points(pairs: object) -> tuple[tuple[int, int], ...]:
    try:
        given = tuple((start, size) for start, size in pairs)  # type: ignore[attr-defined]
    except (TypeError, ValueError):
        raise InputError(
            f"points must be pairs of threshold and size, got {shown(pairs)}"
        ) from None
    points = tuple(
        (positive_int("threshold", start, at_least=0), positive_int("batch size", size))
        for start, size in given
    )
    if not points or points[0][0] != 0:
        raise InputError(f"thresholds must start at 0, got {points[0][0] if points else 'none'}")
    for (before, _), (after, _) in pairwise(points):
        if after <= before:
            raise InputError(f"thresholds must rise, got {after} after {before}")
    return points


def short(number: int) -> str:
    """Write a number with the largest suffix that keeps it whole.

    >>> short(250_000_000_000), short(1500), short(1501)
    ('250B', '1500', '1501')
    """
    for suffix, unit in SUFFIXES.items():
        if number and number % unit == 0:
            return f"{number // unit}{suffix}"
    return str(number)
