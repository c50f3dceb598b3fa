"""How an epoch is cut: into updates by the plan, into shares by rank, into pieces by memory."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from rebatch._plan import Plan, Portion
from rebatch.errors import InputError, hold_plain, positive_int


class Update(NamedTuple):
    """One update of an epoch: its number in training and where its samples lie in the epoch."""

    number: int
    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class Piece:
    """What one device computes at once, and how much it counts in its update."""

    update: int
    """The number of the update, counted from the start of training."""
    batch_size: int
    """Samples in the update, over all ranks."""
    samples: int
    """Samples in this piece that count: 0 for a filler."""
    weight: float
    """``samples * world_size / batch_size``: what the mean loss of the piece is multiplied by."""
    last: bool
    """Whether the update is complete on this rank with this piece."""
    updates_done: int
    """Updates of this epoch that are finished once this piece is: for ``state_dict``."""


@dataclass(frozen=True, slots=True)
class Share:
    """The part of every update that one rank computes, in pieces of at most ``micro_batch_size``.

    Ranks follow each other in the batch and the first ones take what does not divide.  Every
    rank makes the same number of pieces; one that has nothing left makes an empty piece.
    """

    rank: int = 0
    world_size: int = 1
    micro_batch_size: int | None = None

    def __post_init__(self) -> None:
        hold_plain(self)
        positive_int("world_size", self.world_size)
        positive_int("rank", self.rank, at_least=0)
        if self.rank >= self.world_size:
            raise InputError(
                f"rank must be below the world size of {self.world_size}, got {self.rank}"
            )
        if self.micro_batch_size is not None:
            positive_int("micro_batch_size", self.micro_batch_size)

    def check(self, plan: Plan) -> None:
        """Raise where the micro-batch is larger than every batch of the plan."""
        largest = plan.sizes[-1]
        if self.micro_batch_size is not None and self.micro_batch_size > largest:
            raise InputError(
                f"micro_batch_size must be at most the largest batch size of the plan, "
                f"{largest}, got {self.micro_batch_size}"
            )

    def of(self, size: int) -> tuple[int, int]:
        """Return where this rank's samples start and stop in an update of ``size`` samples.

        >>> [Share(rank, 4).of(10) for rank in range(4)]
        [(0, 3), (3, 6), (6, 8), (8, 10)]
        """
        each, more = divmod(size, self.world_size)
        start = self.rank * each + min(self.rank, more)
        return start, start + each + (self.rank < more)

    def count(self, size: int, present: int | None = None) -> int:
        """Return the number of pieces of an update of ``size`` samples: the same on all ranks.

        Where a stream ends inside the update only the first ``present`` of them are there.
        """
        if self.micro_batch_size is None:
            return 1
        largest = min(-(-size // self.world_size), size if present is None else present)
        return -(-largest // self.micro_batch_size)

    def spans(self, size: int, present: int | None = None) -> list[tuple[int, int]]:
        """Return the pieces of an update of ``size`` samples; an empty one is a filler.

        >>> Share(1, 2, micro_batch_size=2).spans(9)
        [(5, 7), (7, 9), (9, 9)]
        """
        start, stop = (min(edge, size if present is None else present) for edge in self.of(size))
        step = self.micro_batch_size or stop - start
        count = self.count(size, present)
        return list(pairwise(min(start + step * piece, stop) for piece in range(count + 1)))


def walk(plan: Plan, epoch: int, updates_done: int = 0) -> Iterator[Update]:
    """Yield the updates of an epoch after the first ``updates_done``."""
    for portion in plan.portions(epoch):
        skipped = min(updates_done, portion.updates)
        updates_done -= skipped
        end = portion.offset + portion.length
        start = portion.offset + skipped * portion.batch_size
        for number in range(portion.first_update + skipped, portion.first_update + portion.updates):
            stop = min(start + portion.batch_size, end)
            yield Update(number, start, stop)
            start = stop


def pieces_of(share: Share, update: Update, updates_before: int) -> Iterator[Piece]:
    """Yield the pieces of one update, which comes after ``updates_before`` of its epoch."""
    size = update.stop - update.start
    return weighted(share, update.number, share.spans(size), size, updates_before)


def weighted(
    share: Share, number: int, spans: list[tuple[int, int]], size: int, updates_before: int
) -> Iterator[Piece]:
    """Yield the pieces that ``spans`` are in an update that has ``size`` samples in all."""
    for piece, (start, stop) in enumerate(spans, start=1):
        weight = (stop - start) * share.world_size / size
        last = piece == len(spans)
        yield Piece(number, size, stop - start, weight, last, updates_before + last)


def count_pieces(plan: Plan, share: Share, epoch: int, updates_done: int = 0) -> int:
    """Return how many pieces every rank makes of an epoch after ``updates_done`` updates."""
    total = 0
    for portion in plan.portions(epoch):
        skipped = min(updates_done, portion.updates)
        updates_done -= skipped
        if left := portion.updates - skipped:
            total += (left - 1) * share.count(portion.batch_size) + share.count(_tail(portion))
    return total


def _tail(portion: Portion) -> int:
    return min(portion.batch_size, portion.length - (portion.updates - 1) * portion.batch_size)
