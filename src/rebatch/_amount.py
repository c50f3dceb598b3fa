"""How much data an epoch holds, and how a stretch of it is cut into updates.

A *stretch* is a contiguous part of an epoch that is read at one batch size.  Both kinds of data
answer the same questions about a stretch, in closed form.
"""

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

    def full(self, batch_size: int) -> int:
        """Return the samples of one full update."""
        return batch_size

    def length(self, updates: int, batch_size: int) -> int:
        """Return how long a stretch of that many full updates is."""
        return updates * batch_size


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

    def full(self, batch_size: int) -> int:
        """Return the tokens predicted by one full update."""
        return self.bptt * batch_size

    def length(self, updates: int, batch_size: int) -> int:
        """Return how long a stretch of that many full updates is."""
        return (updates * self.bptt + 1) * batch_size


Amount = Examples | Tokens


def fraction(epoch: int, offset: int, count: int) -> float:
    """Return a position as epochs: whole where it can be."""
    return epoch if offset == 0 else epoch + offset / count
