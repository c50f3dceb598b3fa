"""Where training stands, and where some updates at one batch size take it."""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from rebatch._amount import Amount


class Place(NamedTuple):
    """How far training has come."""

    epoch: int = 0
    offset: int = 0
    """How much of this epoch's data lies behind."""
    update: int = 0
    """Updates made so far."""
    sample: int = 0
    """Samples delivered so far."""


@dataclass(frozen=True)
class Run:
    """Updates at one batch size from a place on, over as many epochs as there are updates for.

    The first epoch gives what is left of it, every later one the same number of updates: that is
    why everything here is a division and nothing has to be walked.  An epoch is over when it
    has no further update at this batch size; what is left of it then is left out.
    """

    amount: Amount
    batch_size: int
    start: Place

    @cached_property
    def first(self) -> int:
        """Updates left in the epoch of the start."""
        return self.amount.updates(self.amount.count - self.start.offset, self.batch_size)

    @cached_property
    def each(self) -> int:
        """Updates in every later epoch."""
        return self.amount.updates(self.amount.count, self.batch_size)

    def place(self, updates: int) -> Place:
        """Return the place after ``updates`` of the run."""
        amount, size, start = self.amount, self.batch_size, self.start
        passed, rest = 0, updates
        offset, sample = start.offset, start.sample
        if updates >= self.first:
            passed, rest = divmod(updates - self.first, self.each)
            sample += self._delivered_first + passed * amount.delivered(amount.count, size)
            passed, offset = passed + 1, 0
        if rest:
            offset += amount.length(rest, size)
            sample += rest * amount.full(size)
        return Place(start.epoch + passed, offset, start.update + updates, sample)

    def until(self, clock: str, end: int) -> int:
        """Return the fewest updates after which ``clock`` shows at least ``end``."""
        if clock == "updates":
            return end - self.start.update
        if clock == "epochs":
            return self.first + (end - self.start.epoch - 1) * self.each
        return self._until_samples(end - self.start.sample)

    @cached_property
    def _delivered_first(self) -> int:
        left = self.amount.count - self.start.offset
        return self.amount.delivered(left, self.batch_size)

    def _until_samples(self, samples: int) -> int:
        full = self.amount.full(self.batch_size)
        if samples <= self._delivered_first:
            return -(-samples // full)
        later = samples - self._delivered_first
        passed, rest = divmod(later, self.amount.delivered(self.amount.count, self.batch_size))
        return self.first + passed * self.each + -(-rest // full)
