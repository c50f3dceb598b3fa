"""Batches paired with what they count for: micro-batches, ranks, sequences of unequal length."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Protocol, TypeVar

import torch
from torch import distributed

from rebatch.data._cut import Piece, Share, pieces_of, walk
from rebatch.data._sampler import PlannedBatchSampler
from rebatch.errors import InputError

Batch = TypeVar("Batch")
Own = TypeVar("Own", covariant=True)


class SelfReading(Protocol[Own]):
    """A feed that holds its own data."""

    @property
    def share(self) -> Share:
        """Give the part of every update that it reads."""

    def pieces(self) -> Iterator[tuple[Piece, Own]]:
        """Read one epoch, every batch with its piece."""


def pieces(
    sampler: PlannedBatchSampler | SelfReading[Batch],
    loader: Iterable[Batch] | None = None,
    *,
    tokens: Callable[[Batch], int] | None = None,
) -> Iterator[tuple[Piece, Batch]]:
    """Pair every batch of one pass over ``loader`` with its piece of the plan.

    Multiply the mean loss of a batch by ``piece.weight`` and update where ``piece.last``: the sum
    over pieces, averaged over ranks as DDP does, is then the mean over the whole update.  The
    pieces come from the plan, so a loader may read ahead with as many workers as it likes.

    With ``tokens``, a function that counts the tokens of a batch that its mean loss runs over,
    the weight is by tokens: ``tokens in the piece * world size / tokens in the update``.  That
    holds back the batches of one update until all of them, on all ranks, are counted.

    A batch without a token has no mean, and nan times 0 is nan: let its loss be 0, as a sum over
    tokens divided by at least 1 is.

    What reads itself, a `PlannedStream` or a `TensorLoader`, is given without a loader.

    >>> import rebatch
    >>> plan = rebatch.plan(rebatch.constant(5), epochs=1, examples=5)
    >>> sampler = PlannedBatchSampler(plan, micro_batch_size=2, shuffle=False)
    >>> [(batch, piece.weight, piece.last) for piece, batch in pieces(sampler, sampler)]
    [([0, 1], 0.4, False), ([2, 3], 0.4, False), ([4], 0.2, True)]
    """
    paired = _paired(sampler, loader)
    return paired if tokens is None else by_tokens(paired, tokens, sampler)


def planned_pieces(sampler: PlannedBatchSampler) -> Iterator[Piece]:
    """Yield what the next iteration of the sampler gives, without drawing it."""
    done = sampler.updates_before
    for number, update in enumerate(walk(sampler.plan, sampler.epoch, done), start=done):
        yield from pieces_of(sampler.share, update, number)


def by_tokens(
    paired: Iterable[tuple[Piece, Batch]],
    tokens: Callable[[Batch], int],
    sampler: PlannedBatchSampler | SelfReading[Batch],
) -> Iterator[tuple[Piece, Batch]]:
    """Weight pieces by their tokens instead of their samples, one update at a time."""
    held: list[tuple[Piece, Batch, int]] = []
    for piece, batch in paired:
        held.append((piece, batch, tokens(batch) if piece.samples else 0))
        if piece.last:
            # Only now: Accelerate tells a sampler its rank when it starts to draw.
            yield from _weighted(held, sampler.share.world_size)
            held = []


def _weighted(
    held: list[tuple[Piece, Batch, int]], world_size: int
) -> Iterator[tuple[Piece, Batch]]:
    total = _over_ranks(sum(count for _, _, count in held), world_size)
    for piece, batch, count in held:
        yield replace(piece, weight=count * world_size / total if total else 0.0), batch


def _over_ranks(count: int, world_size: int) -> int:
    if world_size == 1:
        return count
    if not (distributed.is_available() and distributed.is_initialized()):
        raise InputError(
            f"tokens must be counted over all ranks: initialise torch.distributed, "
            f"got a world size of {world_size} without it"
        )
    device = "cuda" if distributed.get_backend() == "nccl" else "cpu"
    total = torch.tensor(count, device=device)
    distributed.all_reduce(total)
    return int(total.item())


def _paired(
    feed: PlannedBatchSampler | SelfReading[Batch], loader: Iterable[Batch] | None
) -> Iterator[tuple[Piece, Batch]]:
    if not isinstance(feed, PlannedBatchSampler):
        if loader is not None:
            raise InputError(
                "loader must be given for a sampler only, got one for what reads itself"
            )
        return feed.pieces()
    if loader is None:
        raise InputError("loader must be given for a sampler, got none")
    feed.check(getattr(loader, "dataset", None))
    return _side_by_side(feed, loader)


def _side_by_side(
    sampler: PlannedBatchSampler, loader: Iterable[Batch]
) -> Iterator[tuple[Piece, Batch]]:
    planned: Iterator[Piece] | None = None
    for number, batch in enumerate(loader):
        # Only now: there are loaders that set the epoch when they start to deliver.
        planned = planned or planned_pieces(sampler)
        if (piece := next(planned, None)) is None:
            raise InputError(f"loader must deliver {number} batches, as planned, got more")
        yield piece, batch
    missing = sum(1 for _ in planned or planned_pieces(sampler))
    if missing:
        raise InputError(f"loader must deliver what is planned, got {missing} batches too few")
