"""A loader for data that is already in memory or on the GPU: batches are indexed, not collected."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from rebatch._amount import Examples
from rebatch._plan import Plan
from rebatch.data._augment import Augment
from rebatch.data._cut import Piece, Share, count_pieces, walk, weighted
from rebatch.data._feed import Feed
from rebatch.data._order import epoch_generator, epoch_order
from rebatch.errors import InputError, positive_int

Batch = tuple[Tensor, ...]
Placed = tuple[Piece, slice]
"""A piece and its places in the order of the epoch."""

STRETCH = 8192
"""The most samples that are gathered at once, where batches are smaller than that."""
CACHED, HELD = 2**20, 2**25
"""The most bytes that they may take on the CPU, whose caches they must fit, and elsewhere."""


class TensorLoader(Feed):
    """The batches of one epoch of tensors whose first dimension is the sample.

    Samples, order and saved position are those of a `PlannedBatchSampler` with the same seed.
    ``augment`` changes the first tensor by numbers that are drawn from (seed, epoch) for the
    whole epoch and belong to a place in it, so that ranks, micro-batches and resuming change no
    image.

    Small batches are gathered many at a time and lie side by side in memory: one may be changed in
    place without changing another, but keeps the others' memory unless it is cloned.

    >>> import rebatch, torch
    >>> plan = rebatch.plan(rebatch.constant(2), epochs=1, examples=5)
    >>> [batch.tolist() for (batch,) in TensorLoader([torch.arange(5)], plan, shuffle=False)]
    [[0, 1], [2, 3], [4]]
    """

    def __init__(
        self,
        tensors: Sequence[Tensor],
        plan: Plan,
        seed: int = 0,
        *,
        augment: Augment | None = None,
        rank: int = 0,
        world_size: int = 1,
        micro_batch_size: int | None = None,
        shuffle: bool = True,
    ) -> None:
        super().__init__(plan)
        _check(tensors, plan)
        self.share = Share(rank, world_size, micro_batch_size)
        self.share.check(plan)
        self.seed = positive_int("seed", seed, at_least=0)
        self.shuffle = shuffle
        self._tensors, self._augment = tuple(tensors), augment

    def __len__(self) -> int:
        """Return how many batches the next iteration gives: pieces, with micro-batches."""
        return count_pieces(self.plan, self.share, self.epoch, self.updates_before)

    def __iter__(self) -> Iterator[Batch]:
        """Give the batches from the position to the end of the epoch."""
        return (batch for _, batch in self.pieces())

    def samples(self, numbers: Tensor) -> Batch:
        """Return samples by their numbers, not augmented."""
        there = numbers.to(self._tensors[0].device)
        return tuple(tensor.index_select(0, there) for tensor in self._tensors)

    def pieces(self) -> Iterator[tuple[Piece, Batch]]:
        """Give the batches, each with its update and weight: what `rebatch.data.pieces` does."""
        self._start()
        order, draws = self._order(), self._draws()
        for stretch in _stretches(self._placed(), _most(self._tensors)):
            batches = self._batches(order, draws, [places for _, places in stretch])
            for (piece, _), batch in zip(stretch, batches, strict=True):
                self._drawn = piece.updates_done
                yield piece, batch

    def _placed(self) -> Iterator[Placed]:
        done = self.updates_before
        for number, update in enumerate(walk(self.plan, self.epoch, done), start=done):
            size = update.stop - update.start
            spans = self.share.spans(size)
            parts = weighted(self.share, update.number, spans, size, number)
            for piece, (start, stop) in zip(parts, spans, strict=True):
                # A rank with nothing in the piece takes one sample, which has weight 0.
                first, last = (start, stop) if piece.samples else (0, 1)
                yield piece, slice(update.start + first, update.start + last)

    def _batches(
        self, order: Tensor | None, draws: Tensor | None, stretch: list[slice]
    ) -> Iterator[Batch]:
        if order is None:
            tensors = [_taken(tensor, stretch) for tensor in self._tensors]
        else:
            numbers = _taken(order, stretch)
            tensors = [tensor.index_select(0, numbers) for tensor in self._tensors]
        if self._augment is not None and draws is not None:
            tensors[0] = self._augment(tensors[0], _taken(draws, stretch))
        sizes = [places.stop - places.start for places in stretch]
        # Unsafe if the whole were used as well; autograd takes the parts for tensors of their own.
        return zip(*(tensor.unsafe_split_with_sizes(sizes) for tensor in tensors), strict=True)

    def _order(self) -> Tensor | None:
        if not self.shuffle:
            return None
        order = epoch_order(self.plan.examples, self.seed, self.epoch)
        return order.to(self._tensors[0].device)

    def _draws(self) -> Tensor | None:
        if self._augment is None:
            return None
        generator, images = epoch_generator(self.seed, self.epoch, "augment"), self._tensors[0]
        draws = self._augment.draw(self.plan.examples, generator)
        return self._augment.prepare(draws.to(images.device), images)

    def _identity(self) -> dict[str, Any]:
        order = "shuffled" if self.shuffle else "in order"
        return {**super()._identity(), "seed": self.seed, "order": order}


def _most(tensors: Batch) -> int:
    """Return how many samples a stretch of batches may have."""
    if any(tensor.requires_grad for tensor in tensors):
        return 0  # batches gathered at once would share a graph: each comes alone
    room = CACHED if tensors[0].device.type == "cpu" else HELD
    return min(STRETCH, room // max(sum(tensor[:1].nbytes for tensor in tensors), 1))


def _stretches(pieces: Iterable[Placed], most: int) -> Iterator[list[Placed]]:
    """Yield as many pieces at a time as hold ``most`` samples, but at least one."""
    stretch: list[Placed] = []
    samples = 0
    for piece, places in pieces:
        samples += (size := places.stop - places.start)
        if stretch and samples > most:
            yield stretch
            stretch, samples = [], size
        stretch.append((piece, places))
    if stretch:
        yield stretch


def _taken(tensor: Tensor, stretch: list[slice]) -> Tensor:
    return torch.cat([tensor[places] for places in stretch])


def _check(tensors: Sequence[Tensor], plan: Plan) -> None:
    if not isinstance(plan.amount, Examples):
        raise InputError("plan must be of examples, made with examples=, got one of tokens")
    if not tensors or any(len(tensor) != plan.examples for tensor in tensors):
        got = ", ".join(str(len(tensor)) for tensor in tensors) or "none"
        raise InputError(
            f"tensors must hold the {plan.examples} examples that the plan was made for, got {got}"
        )
    if len({tensor.device for tensor in tensors}) > 1:
        got = ", ".join(str(tensor.device) for tensor in tensors)
        raise InputError(f"tensors must be on one device, got {got}")
