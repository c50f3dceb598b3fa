"""Sizes that swing: half cosines with restarts, one cycle, and triangle waves."""

import math
from dataclasses import KW_ONLY, dataclass

from rebatch.errors import InputError, one_of, positive_int, positive_number, shown
from rebatch.schedules._schedule import Smooth

MODES = ("triangular", "triangular2", "exp_range")


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
        _check_wave(start=self.start, end=self.end, length=self.length, lengthen=self.lengthen)
        if self.lengthen > 1 and not self.restarts:
            raise InputError(f"lengthen must be 1 without restarts, got {self.lengthen}")

    def cycle(self, position: int) -> tuple[int, float]:
        """Return the number of restarts so far, and where the next one is."""
        if not self.restarts:
            return 0, math.inf
        number = self._restarts_before(position)
        return number, self._start_of(number + 1)

    def value(self, position: int) -> float:
        """Return the point of the half cosine."""
        number, _ = self.cycle(position)
        length = self.length * self.lengthen**number
        return _swing(self.start, self.end, (position - self._start_of(number)) / length)

    def bend(self, position: int) -> float:
        """Return the end of the half cosine, and infinity when it is over."""
        end = self.cycle(position)[1] if self.restarts else self.length
        return end if position < end else math.inf

    def _start_of(self, number: int) -> int:
        if self.lengthen == 1:
            return number * self.length
        return int(self.length * (self.lengthen**number - 1) // (self.lengthen - 1))

    def _restarts_before(self, position: int) -> int:
        if self.lengthen == 1:
            return position // self.length
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
        _check_wave(start=self.start, low=self.low, end=self.end, length=self.length)
        if not positive_number("turn", self.turn) < 1:
            raise InputError(f"turn must be between 0 and 1, got {shown(self.turn)}")

    def cycle(self, position: int) -> tuple[int, float]:
        """Return the one cycle, and afterwards the stretch that stays at its end."""
        return (0, self.length) if position < self.length else (1, math.inf)

    def value(self, position: int) -> float:
        """Return the point of the fall or of the rise."""
        fall = self.turn * self.length
        if position < fall:
            return _swing(self.start, self.low, position / fall)
        return _swing(self.low, self.end, (position - fall) / (self.length - fall))

    def bend(self, position: int) -> float:
        """Return the end of the fall, then of the rise, then infinity."""
        ends = (self.turn * self.length, self.length, math.inf)
        return next(end for end in ends if position < end)


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
    gamma: float = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_wave(low=self.low, high=self.high, width=self.width)
        one_of("mode", self.mode, MODES)
        if positive_number("gamma", self.gamma) > 1:
            raise InputError(f"gamma must be at most 1, got {shown(self.gamma)}")

    def cycle(self, position: int) -> tuple[int, float]:
        """Return the number of the swing, and where it is back at ``low``."""
        number = position // (2 * self.width)
        return number, (number + 1) * 2 * self.width

    def value(self, position: int) -> float:
        """Return the point of the triangle wave, scaled as ``mode`` says."""
        number, end = self.cycle(position)
        height = 1 - abs((end - position) / self.width - 1)
        return self.low + (self.high - self.low) * height * self._scale(number, position)

    def bend(self, position: int) -> float:
        """Return where the line ends; a shrinking line may bend anywhere."""
        if self.mode == "exp_range":
            return position + 1
        return (position // self.width + 1) * self.width

    def _scale(self, number: int, position: int) -> float:
        if self.mode == "triangular2":
            return 0.5**number
        return float(self.gamma) ** position if self.mode == "exp_range" else 1.0


def _check_wave(**arguments: int) -> None:
    for name, value in arguments.items():
        positive_int(name, value)


def _swing(first: float, last: float, share: float) -> float:
    return last + (first - last) * (1 + math.cos(math.pi * min(1.0, share))) / 2
