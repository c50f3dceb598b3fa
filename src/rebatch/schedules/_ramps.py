"""Sizes that go one way: along a power of the time, or by a factor every epoch."""

import math
from dataclasses import KW_ONLY, dataclass

from rebatch._growth import check_growth, grown
from rebatch.errors import LARGEST, positive_int, positive_number
from rebatch.schedules._schedule import Clock, Smooth


@dataclass(frozen=True, repr=False)
class polynomial(Smooth):
    """Go from ``start`` to ``end`` in ``length`` epochs as a power of the time, then stay.

    The size is ``start + (end - start) * (epoch / length)**power``.

    >>> schedule = polynomial(10, 90, length=4, power=2)
    >>> [schedule(epoch) for epoch in range(6)]
    [10, 15, 30, 55, 90, 90]
    """

    start: int
    end: int
    _: KW_ONLY
    length: int
    power: float = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        positive_int("start", self.start)
        positive_int("end", self.end)
        positive_int("length", self.length)
        positive_number("power", self.power)

    def value(self, position: int) -> float:
        """Return the point of the power curve."""
        share = min(1.0, position / self.length)
        return float(self.start + (self.end - self.start) * share**self.power)

    def bend(self, position: int) -> float:
        """Return the end of the curve, and then infinity."""
        return self.length if position < self.length else math.inf


def linear(start: int, end: int, *, length: int, clock: Clock = "epochs") -> polynomial:
    """Go from ``start`` to ``end`` in ``length`` epochs in equal parts, then stay.

    >>> [linear(10, 50, length=4)(epoch) for epoch in range(6)]
    [10, 20, 30, 40, 50, 50]
    """
    return polynomial(start, end, length=length, clock=clock)


@dataclass(frozen=True, repr=False)
class exponential(Smooth):
    """Multiply the size by ``factor`` every epoch, up to ``largest``.

    >>> [exponential(100, factor=1.1)(epoch) for epoch in range(4)]
    [100, 110, 121, 133]
    """

    base: int
    _: KW_ONLY
    factor: float
    largest: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_growth(self.base, self.factor, self.largest)

    def value(self, position: int) -> float:
        """Return ``base * factor**position``, cut at the largest size."""
        return grown(self.base, self.factor, position, self.largest)

    def bend(self, position: int) -> float:
        """Return where the size has come to its limit, and then infinity."""
        limit = 0.1 if self.factor < 1 else self.largest or LARGEST
        growth = math.log(self.factor)
        reached = math.ceil(math.log(limit / self.base) / growth) + 1 if growth else 0
        return reached if position < reached else math.inf
