"""What a schedule is: a frozen value that turns a position in training into a batch size.

A schedule has no counter and no state.  It is compared, hashed, printed, parsed and pickled
like a number, so resuming needs nothing but the position.  Shapes are lower-case classes, to be
read like functions that return values: ``cyclical(10, width=5)``.
"""

import math
from bisect import bisect_left
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

from rebatch._call import Value
from rebatch.errors import hold_plain, one_of, positive_number

Clock = Literal["epochs", "updates", "samples", "tokens"]
CLOCKS: tuple[str, ...] = get_args(Clock)


class Stair(NamedTuple):
    """A stretch of constant batch size: what a schedule says at one position."""

    batch_size: int
    end: float
    """Position where the schedule has to be read again: whole, or infinity for never."""
    cycle: int = 0
    step: int = 0
    ends_cycle: bool = False
    """Whether a cycle is complete at ``end``."""


@dataclass(frozen=True, repr=False, kw_only=True)
class Schedule(Value):
    """A batch size for every position of training; ``clock`` says in what unit."""

    clock: Clock = "epochs"

    def __post_init__(self) -> None:
        hold_plain(self)
        one_of("clock", self.clock, CLOCKS)

    def stair(self, position: float) -> Stair:
        """Return the stretch of constant batch size that ``position`` lies in."""
        raise NotImplementedError

    def __call__(self, position: float) -> int:
        """Return the batch size at ``position``, counted from 0 in units of the clock."""
        return self.stair(positive_number("position", position, zero=True)).batch_size

    @property
    def first_size(self) -> int:
        """The batch size that training starts with: the base of a cycle."""
        return self.stair(0).batch_size

    def __str__(self) -> str:
        return repr(self)


@dataclass(frozen=True, repr=False, kw_only=True)
class Smooth(Schedule):
    """A schedule given by a formula, read once per unit of its clock and rounded once."""

    def value(self, position: int) -> float:
        """Return the exact value of the formula at ``position``."""
        raise NotImplementedError

    def cycle(self, position: int) -> tuple[int, float]:
        """Return the number of the cycle that ``position`` is in, and where it ends."""
        return 0, math.inf

    def bend(self, position: int) -> float:
        """Return up to where the formula only rises or only falls; it is flat for infinity."""
        return position + 1

    def stair(self, position: float) -> Stair:
        """Return the size at the start of this unit, and where the rounded size is another.

        Up to its next bend the formula is monotone, so that place is found by bisection: a
        clock that counts tokens costs no more than one that counts epochs.
        """
        start = math.floor(position)
        cycle, cycle_end = self.cycle(start)
        size, end = self._size(start), min(self.bend(start), cycle_end)
        if end < math.inf:
            ahead = range(start + 1, math.ceil(end))
            end = start + 1 + bisect_left(ahead, True, key=lambda unit: self._size(unit) != size)
        return Stair(size, end, cycle, ends_cycle=end == cycle_end < math.inf)

    def _size(self, position: int) -> int:
        return max(1, round(self.value(position)))
