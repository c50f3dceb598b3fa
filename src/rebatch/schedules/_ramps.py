"""Sizes that follow a formula from a start to an end."""

import math
from dataclasses import KW_ONLY, dataclass

from rebatch.errors import InputError, positive_int, positive_number
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
        _check_ramp(self.start, self.end, self.length)
        positive_number("power", self.power)

    def value(self, position: float) -> float:
        """Return the point of the power curve."""
        share = min(1.0, position / self.length)
        return float(self.start + (self.end - self.start) * share**self.power)


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
        positive_int("base", self.base)
        positive_number("factor", self.factor)
        if self.largest is not None:
            positive_int("largest", self.largest)

    def value(self, position: float) -> float:
        """Return ``base * factor**position``, cut at the largest size."""
        largest = float(self.largest or 2**53)
        exponent = math.log(self.base) + position * math.log(self.factor)
        return min(largest, self.base * self.factor**position if exponent < 40 else largest)


@dataclass(frozen=True, repr=False)
class cosine(Smooth):
    """Go from ``start`` to ``end`` in ``length`` epochs along half a cosine.

    The size is ``end + (start - end) * (1 + cos(pi * epoch / length)) / 2``.  Then it stays, or
    with ``restarts`` starts over, each cycle ``lengthen`` times as long as the one before.

    >>> [cosine(10, 50, length=4)(epoch) for epoch in range(6)]
    [10, 16, 30, 44, 50, 50]
    >>> [cosine(10, 50, length=2, restarts=True, lengthen=2)(epoch) for epoch in range(7)]
    [10, 30, 10, 16, 30, 44, 10]
    """

    start: int
    end: int
    _: KW_ONLY
    length: int
    restarts: bool = False
    lengthen: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_ramp(self.start, self.end, self.length)
        positive_int("lengthen", self.lengthen)

    def cycle(self, position: float) -> tuple[int, float]:
        """Return the number of restarts so far, and where the next one is."""
        if not self.restarts:
            return 0, math.inf
        number = self._restarts_before(position)
        return number, self._start_of(number + 1)

    def value(self, position: float) -> float:
        """Return the point of the half cosine."""
        number, _ = self.cycle(position)
        length = self.length * self.lengthen**number
        share = min(1.0, (position - self._start_of(number)) / length)
        return self.end + (self.start - self.end) * (1 + math.cos(math.pi * share)) / 2

    def _start_of(self, number: int) -> int:
        if self.lengthen == 1:
            return number * self.length
        return int(self.length * (self.lengthen**number - 1) // (self.lengthen - 1))

    def _restarts_before(self, position: float) -> int:
        if self.lengthen == 1:
            return int(position // self.length)
        number = 0
        while self._start_of(number + 1) <= position:
            number += 1
        return number


@dataclass(frozen=True, repr=False)
class one_cycle(Smooth):
    """Fall from ``start`` to ``low``, then rise to ``end``, each along half a cosine.

    The fall takes the share ``turn`` of ``length`` epochs.  It mirrors the one-cycle learning
    rate (Smith, 2018): where the rate is highest, the batch is smallest.

    >>> [one_cycle(64, 16, 256, length=10)(epoch) for epoch in (0, 3, 10, 11)]
    [64, 16, 256, 256]
    """

    start: int
    low: int
    end: int
    _: KW_ONLY
    length: int
    turn: float = 0.3

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_ramp(self.start, self.end, self.length)
        positive_int("low", self.low)
        if not 0 < self.turn < 1:
            raise InputError(f"turn must be between 0 and 1, got {self.turn}")

    def cycle(self, position: float) -> tuple[int, float]:
        """Return the one cycle, and afterwards the stretch that stays at its end."""
        return (0, self.length) if position < self.length else (1, math.inf)

    def value(self, position: float) -> float:
        """Return the point of the fall or of the rise."""
        turn = self.turn * self.length
        if position < turn:
            first, last, share = self.start, self.low, position / turn
        else:
            share = min(1.0, (position - turn) / (self.length - turn))
            first, last = self.low, self.end
        return last + (first - last) * (1 + math.cos(math.pi * share)) / 2


@dataclass(frozen=True, repr=False)
class cyclic(Smooth):
    """Swing between ``low`` and ``high`` in straight lines of ``width`` epochs (Smith, 2017).

    With ``mode="triangular2"`` the swing halves every cycle; with ``mode="exp_range"`` it is
    multiplied by ``gamma`` every epoch.

    >>> [cyclic(10, 50, width=2)(epoch) for epoch in range(6)]
    [10, 30, 50, 30, 10, 30]
    """

    low: int
    high: int
    _: KW_ONLY
    width: int
    mode: str = "triangular"
    gamma: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_ramp(self.low, self.high, self.width, names=("low", "high", "width"))
        positive_number("gamma", self.gamma)
        if self.mode not in ("triangular", "triangular2", "exp_range"):
            modes = "triangular, triangular2 or exp_range"
            raise InputError(f"mode must be {modes}, got {self.mode!r}")

    def cycle(self, position: float) -> tuple[int, float]:
        """Return the number of the swing, and where it is back at ``low``."""
        number = int(position // (2 * self.width))
        return number, (number + 1) * 2 * self.width

    def value(self, position: float) -> float:
        """Return the point of the triangle wave, scaled as ``mode`` says."""
        number, end = self.cycle(position)
        height = 1 - abs((end - position) / self.width - 1)
        shrunk = {"triangular": 1.0, "triangular2": 0.5**number, "exp_range": 0.0}[self.mode]
        scale = self.gamma**position if self.mode == "exp_range" else shrunk
        return self.low + (self.high - self.low) * height * scale


def _check_ramp(
    start: int, end: int, length: int, *, names: tuple[str, str, str] = ("start", "end", "length")
) -> None:
    for name, value in zip(names, (start, end, length), strict=True):
        positive_int(name, value)
