"""The cycle that a run of AUTO is in: its stairs, its length and what it may spend.

Epochs at the top are the cheapest.  What a cycle may spend beyond a whole length of them is its
slack, and the lower stairs live on that: so it never spends too much, whatever is measured.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import takewhile

from rebatch.policies._policy import Seen

PART = Fraction(3, 4)
"""Of the slack, what one stair may use; the last below the top may use all."""


@dataclass(frozen=True)
class Cycle:
    """A stretch of epochs, the stairs to be climbed in it and the updates it may take."""

    sizes: tuple[int, ...]
    length: int
    allowed: Fraction
    updates_of: Callable[[int], int]
    rows: Sequence[Seen] = ()

    @cached_property
    def here(self) -> list[Seen]:
        """The rows at the size of the last one, as far as they follow each other."""
        same = takewhile(lambda row: row.batch_size == self.rows[-1].batch_size, self.rows[::-1])
        return list(same)[::-1]

    @property
    def top(self) -> int:
        """The largest size that is planned."""
        return self.sizes[-1]

    @property
    def rest(self) -> int:
        """Epochs until its planned end; 0 or less when it is overdue."""
        return self.length - epochs_of(self.rows)

    @property
    def unit(self) -> int:
        """Epochs of a row: an eighth of a step of the paper's."""
        return max(1, self.length // 32)

    @property
    def stairs_above(self) -> int:
        """How many sizes are still to come."""
        return sum(size > self.rows[-1].batch_size for size in self.sizes)

    @property
    def epochs_here(self) -> int:
        """Epochs at the present size."""
        return epochs_of(self.here)

    @property
    def pace(self) -> int:
        """Epochs for this stair if what was left at its beginning is divided evenly."""
        return -(-(self.epochs_here + self.rest) // (self.stairs_above + 1))

    def may_stay(self) -> bool:
        """Tell whether time and updates allow another row at this size."""
        if self.rest - self.unit < self.stairs_above * self.unit:
            return False
        part = PART if self.stairs_above > 1 else 1
        epochs = self.epochs_here + self.unit
        return epochs * self._extra(self.rows[-1].batch_size) <= part * self._slack(self.here)

    def first_size(self) -> int:
        """Return the stair to start from: the first one, if the updates suffice for it.

        >>> Cycle((10, 20, 40, 80), 8, Fraction(300), lambda size: 800 // size).first_size()
        10
        """
        return next((size for size in self.sizes if self.affords(size)), self.top)

    def next_size(self) -> int:
        """Return the next stair that leaves time and updates to climb to the top."""
        fitting = self.sizes[-max(1, self.rest // self.unit) :]
        above = [size for size in fitting if size > self.rows[-1].batch_size]
        return next((size for size in above if self.affords(size)), self.top)

    def affords(self, size: int) -> bool:
        """Tell whether a row at this size leaves enough updates for the top."""
        return self.unit * self._extra(size) <= self._slack()

    def _extra(self, size: int) -> int:
        """Return what an epoch at a size costs beyond one at the top."""
        return self.updates_of(size) - self.updates_of(self.top)

    def _slack(self, without: Sequence[Seen] = ()) -> Fraction:
        """Return the updates that all but the last rows have left, beyond the rest at the top."""
        rows = self.rows[: len(self.rows) - len(without)]
        rest = self.length - epochs_of(rows)
        return self.allowed - sum(row.updates for row in rows) - rest * self.updates_of(self.top)


def epochs_of(rows: Sequence[Seen]) -> int:
    """Return how many epochs rows took."""
    return round(sum(row.epochs for row in rows))
