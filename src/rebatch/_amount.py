"""How much data an epoch holds, and how a stretch of it is cut into updates.

A *stretch* is a contiguous part of an epoch that is read at one batch size.  Both kinds of data
answer the same questions about a stretch, in closed form.
"""

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Examples:
    """``count`` independent examples; an update takes ``batch_size`` of them."""

    count: int
    drop_last: bool = False

    def updates(self, length: int, batch_size: int) -> int:
        """Return the updates in a stretch: ``ceil(length / B)``, or floor with ``drop_last``."""
        return length // batch_size if self.drop_last else -(-length // batch_size)

    def delivered(self, length: int, batch_size: int) -> int:
        """Return how many samples of a whole stretch reach the optimiser."""
        return length - length % batch_size if self.drop_last else length

    def samples(self, updates: int, batch_size: int) -> int:
        """Return the samples of that many full updates."""
        return updates * batch_size

    def length(self, updates: int, batch_size: int) -> int:
        """Return how long a stretch of that many full updates is."""
        return updates * batch_size

    def updates_for(self, samples: int, batch_size: int) -> int:
        """Return the fewest full updates that deliver at least ``samples``."""
        return -(-samples // batch_size)


@dataclass(frozen=True, slots=True)
class Tokens:
    """A stream of ``count`` tokens, read in ``batch_size`` columns, ``bptt`` rows an update.

    A stretch of T tokens gives ``T // B`` rows, of which the first is input only: so
    ``ceil((T // B - 1) / bptt)`` updates, and a sample is a token that is predicted.
    """

    count: int
    bptt: int

    def updates(self, length: int, batch_size: int) -> int:
        """Return the updates in a stretch: ``ceil((length // B - 1) / bptt)``."""
        return max(0, -(-(length // batch_size - 1) // self.bptt))

    def delivered(self, length: int, batch_size: int) -> int:
        """Return how many tokens of a whole stretch are predicted."""
        return max(0, length // batch_size - 1) * batch_size

    def samples(self, updates: int, batch_size: int) -> int:
        """Return the tokens predicted by that many full updates."""
        return updates * self.bptt * batch_size

    def length(self, updates: int, batch_size: int) -> int:
        """Return how long a stretch of that many full updates is."""
        return (updates * self.bptt + 1) * batch_size

    def updates_for(self, samples: int, batch_size: int) -> int:
        """Return the fewest full updates that predict at least ``samples`` tokens."""
        return -(-samples // (self.bptt * batch_size))


Amount = Examples | Tokens
ENDLESS = 2**62
"""Stands for the length of a stream that nobody has counted."""


@dataclass(frozen=True, slots=True)
class Run:
    """Updates at one batch size, from an offset inside an epoch over as many epochs as needed.

    The first epoch gives what is left of it, every later one the same number of updates: that is
    why everything below is a division and nothing has to be walked.
    """

    amount: Amount
    batch_size: int
    offset: int

    @property
    def _first(self) -> int:
        return self.amount.updates(self.amount.count - self.offset, self.batch_size)

    @property
    def _each(self) -> int:
        return self.amount.updates(self.amount.count, self.batch_size)

    def epoch(self, updates: int) -> tuple[int, int]:
        """Return (epochs passed, updates made in the current one) after ``updates``."""
        if updates < self._first or not self._each:
            return (0, updates)
        passed, rest = divmod(updates - self._first, self._each)
        return passed + 1, rest

    def until_epoch(self, epochs: int) -> int:
        """Return the updates until ``epochs`` epoch ends have been passed."""
        return self._first + (epochs - 1) * self._each

    def samples(self, updates: int) -> int:
        """Return the samples that the first ``updates`` deliver."""
        passed, rest = self.epoch(updates)
        if not passed:
            return self.amount.samples(rest, self.batch_size)
        first = self.amount.delivered(self.amount.count - self.offset, self.batch_size)
        each = self.amount.delivered(self.amount.count, self.batch_size)
        return first + (passed - 1) * each + self.amount.samples(rest, self.batch_size)

    def until_samples(self, samples: int) -> int:
        """Return the fewest updates that deliver at least ``samples``."""
        first = self.amount.delivered(self.amount.count - self.offset, self.batch_size)
        if samples <= first:
            return min(self.amount.updates_for(samples, self.batch_size), self._first)
        each = self.amount.delivered(self.amount.count, self.batch_size)
        passed, rest = divmod(samples - first, each)
        return self._first + passed * self._each + self.amount.updates_for(rest, self.batch_size)

    def place(self, updates: int) -> tuple[int, int]:
        """Return (epochs passed, offset in the current one) after ``updates``."""
        passed, rest = self.epoch(updates)
        start = 0 if passed else self.offset
        return passed, start + (self.amount.length(rest, self.batch_size) if rest else 0)


def fraction(epoch: int, offset: int, count: int) -> float:
    """Return a position as epochs: whole where it can be."""
    return epoch if offset == 0 else epoch + offset / count


def offset_in(position: float, count: int) -> tuple[int, int]:
    """Return (epoch, offset) of a position in epochs: the inverse of `fraction`."""
    epoch = math.floor(position)
    offset = round((position - epoch) * count)
    return (epoch + 1, 0) if offset == count else (epoch, offset)
