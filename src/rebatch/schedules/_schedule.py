"""What a schedule is: a frozen value that turns a position in training into a batch size.

A schedule has no counter and no state.  It is compared, hashed, printed, parsed and pickled
like a number, so resuming needs nothing but the position.  Shapes are lower-case classes, to be
read like functions that return values: ``cyclical(10, width=5)``.
"""

import math
from dataclasses import dataclass, fields
from typing import Literal, NamedTuple, get_args

from rebatch.errors import InputError, one_of

Clock = Literal["epochs", "updates", "samples", "tokens"]
CLOCKS: tuple[str, ...] = get_args(Clock)


class Stair(NamedTuple):
    """A stretch of constant batch size: what a schedule says at one position."""

    batch_size: int
    end: float
    """Position where the schedule has to be read again; infinity for never."""
    cycle: int = 0
    step: int = 0
    ends_cycle: bool = False
    """Whether a cycle is complete at ``end``."""


@dataclass(frozen=True, repr=False, kw_only=True)
class Schedule:
    """A batch size for every position of training; ``clock`` says in what unit."""

    clock: Clock = "epochs"

    def __post_init__(self) -> None:
        one_of("clock", self.clock, CLOCKS)

    def stair(self, position: float) -> Stair:
        """Return the stretch of constant batch size that ``position`` lies in."""
        raise NotImplementedError

    def __call__(self, position: float) -> int:
        """Return the batch size at ``position``, counted from 0 in units of the clock."""
        if not 0 <= position < math.inf:
            raise InputError(f"position must be a finite number of at least 0, got {position}")
        return self.stair(position).batch_size

    @property
    def first_size(self) -> int:
        """The batch size that training starts with: the base of a cycle."""
        return self.stair(0).batch_size

    def __repr__(self) -> str:
        shown = ((field, getattr(self, field.name)) for field in fields(self))
        arguments = [
            f"{field.name}={value!r}" if field.kw_only else repr(value)
            for field, value in sorted(shown, key=lambda pair: bool(pair[0].kw_only))
            if not (field.kw_only and value == field.default)
        ]
        return f"{type(self).__name__}({', '.join(arguments)})"

    def __str__(self) -> str:
        return repr(self)


@dataclass(frozen=True, repr=False, kw_only=True)
class Smooth(Schedule):
    """A schedule given by a formula, read once per unit of its clock and rounded once."""

    def value(self, position: float) -> float:
        """Return the exact value of the formula at ``position``."""
        raise NotImplementedError

    def cycle(self, position: float) -> tuple[int, float]:
        """Return the number of the cycle that ``position`` is in, and where it ends."""
        return 0, math.inf

    def stair(self, position: float) -> Stair:
        """Return the size at the start of this unit of the clock."""
        start = math.floor(position)
        cycle, end = self.cycle(start)
        size = max(1, round(self.value(start)))
        return Stair(size, start + 1, cycle, ends_cycle=start + 1 >= end)
