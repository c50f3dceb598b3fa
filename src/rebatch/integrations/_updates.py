"""A plan as a loader of whole updates, for a trainer that counts one item as one update."""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from torch import Tensor
from torch.utils.data import DataLoader

from rebatch.data import Piece, PlannedBatchSampler, PlannedStream, pieces
from rebatch.data._order import epoch_generator, tell_epoch


@dataclass
class Update:
    """What this process computes of one update: its pieces, and the batch of each."""

    pieces: list[Piece] = field(default_factory=list)
    batches: list[Any] = field(default_factory=list)

    def counted(self) -> list[Any]:
        """Return the batches, with nothing in a filler, to count samples and tokens in."""
        both = zip(self.pieces, self.batches, strict=True)
        return [batch if piece.samples else _emptied(batch) for piece, batch in both]

    def weigh(self, items: list[int], total: int, world_size: int) -> None:
        """Weight every piece by its items, of a ``total`` over all ranks, instead of its samples.

        >>> update = Update([Piece(0, 4, 3, 0.75, False, 0), Piece(0, 4, 1, 0.25, True, 1)])
        >>> update.weigh([30, 70], total=100, world_size=1)
        >>> [piece.weight for piece in update.pieces]
        [0.3, 0.7]
        """
        both = zip(self.pieces, items, strict=True)
        self.pieces = [replace(piece, weight=n * world_size / max(1, total)) for piece, n in both]


class Updates:
    """All the updates still to make, over all epochs of the plan.

    ``feed`` is the batch sampler of ``loader``, or a stream whose source ``loader`` is, and
    ``updates_done`` says where training is when an iteration starts.  The loader needs a
    ``generator`` of its own: it would take a number from torch's when it starts otherwise, and
    after a resume inside an epoch the model's dropout would not go on as it would have.
    """

    def __init__(
        self,
        feed: PlannedBatchSampler | PlannedStream,
        loader: DataLoader[Any],
        updates_done: Callable[[], int],
        seed: int,
    ) -> None:
        self.feed, self.loader, self.updates_done, self.seed = feed, loader, updates_done, seed
        self.dataset = loader.dataset

    def __len__(self) -> int:
        """Return the updates of the whole plan."""
        return self.feed.plan.updates

    def __iter__(self) -> Iterator[Update]:
        """Give the updates from where training is to the end of the plan."""
        plan = self.feed.plan
        first, done = plan.epoch_at(self.updates_done())
        for epoch in range(first, math.ceil(plan.epochs)):
            self._go_to(epoch, done if epoch == first else 0)
            yield from self._epoch()

    def _epoch(self) -> Iterator[Update]:
        update, feed = Update(), self.feed
        own = None if isinstance(feed, PlannedStream) else self.loader
        for piece, batch in pieces(feed, own):
            update.pieces.append(piece)
            update.batches.append(batch)
            if piece.last:
                yield update
                update = Update()

    def _go_to(self, epoch: int, done: int) -> None:
        feed = self.feed
        feed.set_epoch(epoch)
        feed.load_state_dict(feed.state_dict(updates_done=done))
        seeded = epoch_generator(self.seed, epoch, "workers")
        self.loader.generator.manual_seed(seeded.initial_seed())
        tell_epoch(self.dataset, epoch)


def _emptied(batch: Mapping[str, Any]) -> dict[str, Any]:
    return {name: part[:0] if isinstance(part, Tensor) else part for name, part in batch.items()}
