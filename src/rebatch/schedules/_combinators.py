"""Schedules made of other schedules, each equal to its pointwise definition."""

import math
from bisect import bisect_right
from dataclasses import KW_ONLY, dataclass, field
from itertools import pairwise

from rebatch.errors import LARGEST, InputError, hold_plain, positive_int, rising, shown
from rebatch.schedules._schedule import Clock, Schedule, Stair


@dataclass(frozen=True, repr=False, kw_only=True)
class Combined(Schedule):
    """A schedule whose clock is that of its parts."""

    clock: Clock = field(init=False)

    def _take_clock(self, *parts: Schedule) -> None:
        for part in parts:
            if not isinstance(part, Schedule):
                raise InputError(f"schedule must be a schedule, got {shown(part)}")
        if len({part.clock for part in parts}) > 1:
            clocks = ", ".join(part.clock for part in parts)
            raise InputError(f"schedules must share one clock, got {clocks}")
        object.__setattr__(self, "clock", parts[0].clock)


@dataclass(frozen=True, repr=False, init=False)
class join(Combined):
    """Run schedules one after another, each from its own beginning, changing over ``at``.

    >>> from rebatch import constant, linear
    >>> schedule = join(linear(8, 32, length=3), constant(64), at=(4,))
    >>> [schedule(epoch) for epoch in range(6)]
    [8, 16, 24, 32, 64, 64]
    """

    parts: tuple[Schedule, ...]
    _: KW_ONLY
    at: tuple[int, ...]

    def __init__(self, *parts: Schedule, at: tuple[int, ...] | list[int] | int) -> None:
        positions = rising("at", at)
        if not parts or len(positions) != len(parts) - 1:
            raise InputError(
                f"at must hold one position less than there are schedules, got {len(positions)} "
                f"for {len(parts)}"
            )
        self._take_clock(*parts)
        object.__setattr__(self, "parts", parts)
        object.__setattr__(self, "at", positions)

    def stair(self, position: float) -> Stair:
        """Return the stair of the part that is running, cut where the next one begins."""
        index = bisect_right(self.at, position)
        start = self.at[index - 1] if index else 0
        stop = self.at[index] if index < len(self.at) else math.inf
        stair = self.parts[index].stair(position - start)
        end = start + stair.end
        return stair._replace(
            end=min(end, stop),
            cycle=self._cycles_before(index) + stair.cycle,
            ends_cycle=stair.ends_cycle and end <= stop,
        )

    def _cycles_before(self, index: int) -> int:
        lengths = [end - start for start, end in pairwise((0, *self.at))]
        before = zip(self.parts[:index], lengths, strict=False)
        return sum(_cycles_in(part, length) for part, length in before)

    def __repr__(self) -> str:
        at = self.at[0] if len(self.at) == 1 else self.at
        return f"join({', '.join(map(repr, self.parts))}, at={at!r})"


@dataclass(frozen=True, repr=False)
class repeat(Combined):
    """Start ``schedule`` over after every ``every`` units of its clock; each pass ends a cycle.

    >>> from rebatch import linear
    >>> schedule = repeat(linear(10, 30, length=2), every=3)
    >>> [schedule(epoch) for epoch in range(7)]
    [10, 20, 30, 10, 20, 30, 10]
    """

    schedule: Schedule
    _: KW_ONLY
    every: int

    def __post_init__(self) -> None:
        self._take_clock(self.schedule)
        hold_plain(self)
        positive_int("every", self.every)

    def stair(self, position: float) -> Stair:
        """Return the stair of the running pass, cut where the pass ends."""
        number = int(position // self.every)
        start = number * self.every
        stair = self.schedule.stair(position - start)
        stop = start + self.every
        return stair._replace(
            end=min(start + stair.end, stop),
            cycle=number * _cycles_in(self.schedule, self.every) + stair.cycle,
            ends_cycle=stair.ends_cycle or start + stair.end >= stop,
        )


@dataclass(frozen=True, repr=False)
class clamp(Combined):
    """Keep every size between ``low`` and ``high``; a cap clips a cycle, it does not end it.

    >>> from rebatch import cyclical
    >>> schedule = clamp(cyclical(10, width=1), high=50)
    >>> [schedule(epoch) for epoch in range(6)]
    [10, 20, 40, 50, 10, 20]
    """

    schedule: Schedule
    _: KW_ONLY
    low: int = 1
    high: int | None = None

    def __post_init__(self) -> None:
        self._take_clock(self.schedule)
        hold_plain(self)
        positive_int("low", self.low)
        if self.high is not None and positive_int("high", self.high) < self.low:
            raise InputError(f"high must be at least low, which is {self.low}, got {self.high}")

    def stair(self, position: float) -> Stair:
        """Return the stair with its size between the limits."""
        stair = self.schedule.stair(position)
        size = max(self.low, stair.batch_size)
        return stair._replace(batch_size=size if self.high is None else min(self.high, size))


@dataclass(frozen=True, repr=False)
class multiple_of(Combined):
    """Round every size to the nearest multiple of ``number``, for instance ranks × micro-batch.

    Halves are rounded up and the result is at least ``number``.

    >>> from rebatch import linear
    >>> [multiple_of(linear(10, 50, length=4), 16)(epoch) for epoch in range(5)]
    [16, 16, 32, 48, 48]
    """

    schedule: Schedule
    number: int

    def __post_init__(self) -> None:
        self._take_clock(self.schedule)
        hold_plain(self)
        positive_int("number", self.number)

    def stair(self, position: float) -> Stair:
        """Return the stair with its size rounded."""
        stair = self.schedule.stair(position)
        nearest = (2 * stair.batch_size + self.number) // (2 * self.number)
        times = max(1, min(nearest, LARGEST // self.number))
        return stair._replace(batch_size=self.number * times)


def _cycles_in(schedule: Schedule, length: int) -> int:
    """Return how many cycles are begun in the first ``length`` units of the clock."""
    return schedule.stair(length - 1).cycle + 1
