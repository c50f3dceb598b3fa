"""Batches of changing size for torch's own `DataLoader`, cut as the plan says."""

import sys
from collections.abc import Collection, Iterator, Sized
from types import FrameType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch.utils.data import DataLoader, IterableDataset, Sampler

from rebatch._amount import Tokens
from rebatch._plan import Plan
from rebatch.data._cut import Share, count_pieces, walk
from rebatch.data._deal import dealt_by
from rebatch.data._feed import Feed
from rebatch.data._order import drawn, epoch_order
from rebatch.errors import InputError, positive_int


class PlannedBatchSampler(Feed, Sampler[list[Any]]):
    """Lists of indices: one for every update of an epoch, or for every piece of one.

    The order of the samples comes from (seed, epoch) alone; the plan cuts it into updates, the
    ranks share each update, and ``micro_batch_size`` cuts a rank's share into pieces.

    Call `set_epoch` before every epoch; iterating alone moves neither the epoch nor the position.
    There is no ``batch_size`` here to read: Accelerate would cut by it.

    Args:
        plan: made by ``rebatch.plan`` for examples.
        seed: with the epoch, what the order of the samples comes from.
        rank: which share of every update to give.
        world_size: how many ranks share an update.
        shuffle: False keeps the order of the data set.
        micro_batch_size: the most samples a device computes at once.
        sampler: your own order, any iterable of indices with a length.  It is drawn once an epoch,
            told the epoch if it has ``set_epoch``, with torch's randomness seeded by (seed, epoch);
            if it uses any other, every rank and every resume must draw the same from it.
        dataset: given, its length is compared at once, and not only when a loader starts.

    >>> import rebatch
    >>> plan = rebatch.plan(rebatch.cyclical(2, width=1, steps=2), epochs=2, examples=6)
    >>> sampler = PlannedBatchSampler(plan, shuffle=False)
    >>> sampler.set_epoch(1)
    >>> len(sampler), list(sampler)
    (2, [[0, 1, 2, 3], [4, 5]])
    """

    def __init__(
        self,
        plan: Plan,
        seed: int = 0,
        *,
        rank: int = 0,
        world_size: int = 1,
        shuffle: bool = True,
        micro_batch_size: int | None = None,
        sampler: Collection[Any] | None = None,
        dataset: Sized | None = None,
    ) -> None:
        super().__init__(plan)
        if isinstance(plan.amount, Tokens):
            raise InputError("plan must be of examples, got one of tokens: use TokenColumns")
        self.share = Share(rank, world_size, micro_batch_size)
        self.share.check(plan)
        self.seed = positive_int("seed", seed, at_least=0)
        self.shuffle, self._source = shuffle, sampler
        _check_length("sampler", sampler, plan)
        self.check(dataset)

    @property
    def drop_last(self) -> bool:
        """Whether the plan leaves out the short last batch of an epoch."""
        return self.plan.drop_last

    @property
    def sampler(self) -> "PlannedBatchSampler":
        """The sampler itself: frameworks look here for the ``set_epoch`` to call."""
        return self

    def check(self, dataset: object) -> None:
        """Raise unless ``dataset`` can be indexed and has as many samples as the plan."""
        if isinstance(dataset, IterableDataset):
            rule = "one with indices: PlannedStream reads one without"
            raise InputError(f"dataset must be {rule}, got {type(dataset).__name__}")
        if self._source is None:
            _check_length("dataset", dataset, self.plan)

    def __len__(self) -> int:
        """Return how many lists the next iteration gives: pieces, where there are micro-batches."""
        share = self._asked_by(sys._getframe(1))
        return count_pieces(self.plan, share, self.epoch, self.updates_before)

    def __iter__(self) -> Iterator[list[Any]]:
        """Give the lists of indices from the position to the end of the epoch."""
        caller = sys._getframe(1)
        loader = caller.f_locals.get("loader")
        dataset = loader.dataset if isinstance(loader, DataLoader) else None
        self._start()
        return self._lists(self.epoch, self._first, self._asked_by(caller), dataset)

    def _identity(self) -> dict[str, Any]:
        order = "shuffled" if self.shuffle else "in order"
        if self._source is not None:
            order = type(self._source).__name__
        return {**super()._identity(), "seed": self.seed, "order": order}

    def _order(self, epoch: int) -> NDArray[Any]:
        if self._source is not None:
            return drawn(self._source, self.plan.examples, self.seed, epoch)
        if self.shuffle:
            return epoch_order(self.plan.examples, self.seed, epoch).numpy()
        return np.arange(self.plan.examples)

    def _asked_by(self, caller: FrameType) -> Share:
        """Return whose lists to give: this rank's, or those of all ranks for Accelerate to deal."""
        if (deal := dealt_by(caller, self.share)) is None:
            return self.share
        self.share = deal.of_rank(deal.rank)
        return deal

    def _lists(self, epoch: int, done: int, share: Share, dataset: object) -> Iterator[list[Any]]:
        self.check(dataset)  # only now: a loader can shut its workers down
        order, size = self._order(epoch), 0
        for _, begin, end in walk(self.plan, epoch, done):
            if size != end - begin:
                size = end - begin
                *spans, last = share.spans(size)
            for start, stop in spans:
                yield _filled(order, begin, start, stop)
            self._drawn += 1
            yield _filled(order, begin, *last)


def _filled(order: NDArray[Any], begin: int, start: int, stop: int) -> list[Any]:
    """Return a piece of an update; a rank with nothing in it takes one sample to fill it."""
    if start == stop:
        start, stop = 0, 1
    indices: list[Any] = order[begin + start : begin + stop].tolist()
    return indices


def _check_length(name: str, data: object, plan: Plan) -> None:
    if isinstance(data, Sized) and len(data) != plan.examples:
        raise InputError(
            f"{name} must have {plan.examples} samples, as the plan has, got {len(data)}"
        )
