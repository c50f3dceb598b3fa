"""Staircases without a drop: sizes that change at given positions."""

import math
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import KW_ONLY, dataclass
from itertools import pairwise

from rebatch.errors import InputError, positive_int, positive_number
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
        self,
        points: Mapping[int, int] | Iterable[tuple[int, int]],
        *,
        clock: Clock = "epochs",
    ) -> None:
        pairs = tuple(points.items() if isinstance(points, Mapping) else map(tuple, points))
        object.__setattr__(self, "points", pairs)
        object.__setattr__(self, "clock", clock)
        super().__post_init__()
        self._check()

    def _check(self) -> None:
        starts = [start for start, _ in self.points]
        for start, size in self.points:
            positive_int("threshold", start, at_least=0)
            positive_int("batch size", size)
        if not starts or starts[0] != 0:
            raise InputError(f"thresholds must start at 0, got {starts[0] if starts else 'none'}")
        for before, after in pairwise(starts):
            if after <= before:
                raise InputError(f"thresholds must rise, got {after} after {before}")

    def stair(self, position: float) -> Stair:
        """Return the stretch between the thresholds around ``position``."""
        step = bisect_right(self.points, position, key=lambda point: point[0]) - 1
        last = step + 1 == len(self.points)
        end = math.inf if last else self.points[step + 1][0]
        return Stair(self.points[step][1], end, step=step)

    def __str__(self) -> str:
        return " ".join(f"{short(start)}:{size}" for start, size in self.points)


def short(number: int) -> str:
    """Write a number with the largest suffix that keeps it whole.

    >>> short(250_000_000_000), short(1500), short(1501)
    ('250B', '1500', '1501')
    """
    for suffix, unit in SUFFIXES.items():
        if number and number % unit == 0:
            return f"{number // unit}{suffix}"
    return str(number)


@dataclass(frozen=True, repr=False)
class milestones(Schedule):
    """Multiply the size by ``factor`` at each position of ``at``, up to ``largest``.

    This grows the batch where the learning rate would be divided (Smith, Kindermans and Le,
    2017).  Past ``largest`` the rate has to fall instead: `rebatch.rates.beyond_largest`.

    >>> schedule = milestones(128, at=(60, 120, 160), factor=5, largest=3200)
    >>> [schedule(epoch) for epoch in (0, 60, 120, 160)]
    [128, 640, 3200, 3200]
    """

    base: int
    _: KW_ONLY
    at: tuple[int, ...]
    factor: float = 2
    largest: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_growth(self.base, self.factor, self.largest)
        object.__setattr__(self, "at", tuple(self.at))
        for before, after in zip((0, *self.at), self.at, strict=False):
            if positive_int("at", after) <= before:
                raise InputError(f"at must rise from above 0, got {after} after {before}")

    def multiplier(self, position: float) -> float:
        """Return what the size would be multiplied by if there were no largest one."""
        return self.factor ** bisect_right(self.at, position)

    def stair(self, position: float) -> Stair:
        """Return the stretch between the milestones around ``position``."""
        step = bisect_right(self.at, position)
        end = self.at[step] if step < len(self.at) else math.inf
        return Stair(_grown(self.base, self.factor, step, self.largest), end, step=step)


@dataclass(frozen=True, repr=False)
class steps(Schedule):
    """Multiply the size by ``factor`` every ``every`` epochs, up to ``largest``.

    >>> schedule = steps(32, every=20, factor=2, largest=100)
    >>> [schedule(epoch) for epoch in (0, 20, 40, 60)]
    [32, 64, 100, 100]
    """

    base: int
    _: KW_ONLY
    every: int
    factor: float = 2
    largest: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_growth(self.base, self.factor, self.largest)
        positive_int("every", self.every)

    def multiplier(self, position: float) -> float:
        """Return what the size would be multiplied by if there were no largest one."""
        return self.factor ** int(position // self.every)

    def stair(self, position: float) -> Stair:
        """Return the step that ``position`` is on."""
        step = int(position // self.every)
        size = _grown(self.base, self.factor, step, self.largest)
        return Stair(size, (step + 1) * self.every, step=step)


def adabatch(
    base: int,
    *,
    every: int = 20,
    factor: float = 2,
    largest: int | None = None,
    clock: Clock = "epochs",
) -> steps:
    """Double the batch every 20 epochs (AdaBatch, Devarakonda et al., 2017).

    Its learning-rate partner is `rebatch.rates.adabatch`.
    """
    return steps(base, every=every, factor=factor, largest=largest, clock=clock)


@dataclass(frozen=True, repr=False)
class square_wave(Schedule):
    """Alternate between two sizes (the discrete cycle of Jastrzębski et al., 2017).

    >>> schedule = square_wave(128, 640, width=5)
    >>> [schedule(epoch) for epoch in (0, 5, 10)]
    [128, 640, 128]
    """

    low: int
    high: int
    _: KW_ONLY
    width: int

    def __post_init__(self) -> None:
        super().__post_init__()
        positive_int("low", self.low)
        positive_int("high", self.high)
        positive_int("width", self.width)

    def stair(self, position: float) -> Stair:
        """Return the half of the wave that ``position`` is on."""
        index = int(position // self.width)
        cycle, step = divmod(index, 2)
        size = self.high if step else self.low
        return Stair(size, (index + 1) * self.width, cycle, step, ends_cycle=step == 1)


def _check_growth(base: int, factor: float, largest: int | None) -> None:
    positive_int("base", base)
    positive_number("factor", factor)
    if largest is not None:
        positive_int("largest", largest)


def _grown(base: int, factor: float, times: int, largest: int | None) -> int:
    if largest is not None and times and factor > 1 and times > math.log(largest, factor) + 1:
        return largest  # the power itself may no longer fit a float
    grown = max(1, round(base * factor**times))
    return grown if largest is None else min(grown, largest)
