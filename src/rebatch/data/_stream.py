"""Streams: data that is read once, in its own order, re-cut to the batches of a plan."""

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

from torch.utils.data import DataLoader, IterableDataset, default_collate, get_worker_info

from rebatch._amount import Tokens
from rebatch._plan import Plan
from rebatch.data._cut import Piece, Share, Update, count_pieces, walk, weighted
from rebatch.data._feed import Feed
from rebatch.data._order import tell_epoch
from rebatch.data._readers import Chunks, Reader, Singles
from rebatch.errors import InputError


class PlannedStream(Feed, IterableDataset[Any]):
    """The batches of a plan, read from any iterable of samples; `pieces` gives their weights.

    Workers belong inside, where the reading is: ``DataLoader(dataset, batch_size=None,
    num_workers=2)`` as the source, of a data set that shares itself out among them, or of any
    data set in `Dealt`.  The cutting happens here, so a batch size never waits for a worker.

    Every rank reads the whole source, in the same order, and collates its own share; costly
    decoding is best left to ``collate_fn``.  A source that ends early gives a last batch with what
    there is, with its true weights and with a warning; one that goes on after an epoch whose
    length was counted gives a warning too.

    Args:
        source: yields samples anew for every epoch; its ``set_epoch`` is called if it has one.
        plan: made by ``rebatch.plan``; without a known length by its ``updates`` or ``samples``.
        rank: which share of every update to give.
        world_size: how many ranks share an update.
        micro_batch_size: the most samples a device computes at once.
        collate_fn: makes a batch of a list of samples.
        chunked: the source yields batches of its own making, to be cut anew.

    >>> import rebatch
    >>> plan = rebatch.plan(rebatch.steps(2, every=2, clock="updates"), updates=4)
    >>> [batch.tolist() for batch in PlannedStream(range(100), plan)]
    [[0, 1], [2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]
    """

    def __init__(
        self,
        source: Iterable[Any],
        plan: Plan,
        *,
        rank: int = 0,
        world_size: int = 1,
        micro_batch_size: int | None = None,
        collate_fn: Callable[[list[Any]], Any] = default_collate,
        chunked: bool = False,
    ) -> None:
        super().__init__(plan)
        self.share = Share(rank, world_size, micro_batch_size)
        self.share.check(plan)
        self.source, self.chunked, self._collate = source, chunked, collate_fn
        self._skips = True
        self.ended_early = False
        """Whether the last pass met the end of the source before that of its epoch."""
        _check(source, plan, chunked)

    def __len__(self) -> int:
        """Return how many batches the next iteration is planned to give, pieces included."""
        return count_pieces(self.plan, self.share, self.epoch, self._first)

    def __iter__(self) -> Iterator[Any]:
        return (batch for _, batch in self.pieces())

    def pieces(self) -> Iterator[tuple[Piece, Any]]:
        """Read one epoch from the position on, every batch with its piece of the plan."""
        if get_worker_info() is not None:
            raise InputError(
                "stream must be read in the main process, got a worker: give the workers to its "
                "source, PlannedStream(DataLoader(dataset, batch_size=None, num_workers=2), plan)"
            )
        self._start()
        self.ended_early = False
        return self._read(self.epoch, self._first)

    def load_state_dict(self, state: Mapping[str, Any], *, skip: bool = True) -> None:
        """Go on where the state was taken.

        The samples before it are read and thrown away, unless ``skip`` is False because the
        source has been put there by a state of its own.
        """
        super().load_state_dict(state)
        self._skips = skip

    def set_epoch(self, epoch: int) -> None:
        """Go to an epoch; the one that is under way goes on where it was loaded."""
        self._skips = self._skips or epoch != self.epoch
        super().set_epoch(epoch)

    def _identity(self) -> dict[str, Any]:
        return {**super()._identity(), "order": "stream"}

    def _read(self, epoch: int, done: int) -> Iterator[tuple[Piece, Any]]:
        reader = self._reader(epoch)
        seen = self._behind(reader, epoch, done)
        for number, update in enumerate(walk(self.plan, epoch, done), start=done):
            size = update.stop - update.start
            present, held = reader.read(size, *self.share.of(size))
            self.ended_early, seen = present < size, seen + present
            if present == size or (present and not self.plan.drop_last):
                self._drawn += 1
                yield from self._pieces(reader, held, update, present, number)
            if self.ended_early:
                return _say_short(seen, self.plan, epoch)
        return self._check_end(reader, epoch, seen)

    def _reader(self, epoch: int) -> Reader:
        for target in (self.source, getattr(self.source, "dataset", None)):
            tell_epoch(target, epoch)
        return Chunks(self.source) if self.chunked else Singles(self.source, self._collate)

    def _behind(self, reader: Reader, epoch: int, done: int) -> int:
        """Return how many samples of the epoch lie behind, having passed over them."""
        before = self.plan.first_update_of(epoch)
        samples = self.plan.sample_at(before + done) - self.plan.sample_at(before)
        return reader.read(samples, 0, 0)[0] if self._skips else samples

    def _pieces(
        self, reader: Reader, held: Any, update: Update, present: int, done: int
    ) -> Iterator[tuple[Piece, Any]]:
        size = update.stop - update.start
        spans, origin = self.share.spans(size, present), self.share.of(size)[0]
        planned = weighted(self.share, update.number, spans, present, done)
        for piece, (start, stop) in zip(planned, spans, strict=True):
            place = (start - origin, stop - origin) if piece.samples else (0, 1)
            yield piece, reader.batch(held, *place)

    def _check_end(self, reader: Reader, epoch: int, seen: int) -> None:
        """Compare the end of the source with that of an epoch which is the whole of it."""
        plan, end = self.plan, self.plan.portions(epoch)[-1]
        if not _counted(plan) or end.offset + end.length < plan.examples:
            return
        left_out = plan.examples - seen
        more, _ = reader.read(left_out + 1, 0, 0)
        if more < left_out:
            self.ended_early = True
            _say_short(seen + more, plan, epoch)
        elif more > left_out:
            warnings.warn(
                f"the stream goes on after the {plan.examples} samples that epoch {epoch} was "
                "planned to have: the rest is not delivered",
                stacklevel=2,
            )


class Dealt(IterableDataset[Any]):
    """A stream dealt out to the workers of a `DataLoader`, sample by sample.

    For a data set that takes no account of workers, which would otherwise deliver everything once
    a worker.  With ``batch_size=None`` the samples arrive in the data set's own order.
    """

    def __init__(self, dataset: Iterable[Any]) -> None:
        self.dataset = dataset

    def __iter__(self) -> Iterator[Any]:
        worker = get_worker_info()
        if worker is None:
            return iter(self.dataset)
        return islice(self.dataset, worker.id, None, worker.num_workers)

    def set_epoch(self, epoch: int) -> None:
        """Tell the data set, if it wants to know."""
        tell_epoch(self.dataset, epoch)


def _say_short(seen: int, plan: Plan, epoch: int) -> None:
    end = plan.portions(epoch)[-1]
    warnings.warn(
        f"the stream ended after {seen} of the {end.offset + end.length} samples planned for "
        f"epoch {epoch}",
        stacklevel=2,
    )


def _check(source: Iterable[Any], plan: Plan, chunked: bool) -> None:
    if isinstance(plan.amount, Tokens):
        raise InputError("plan must be of examples, got one of tokens: use TokenColumns")
    if isinstance(source, DataLoader) and source.batch_sampler is not None and not chunked:
        raise InputError(
            "source must be a DataLoader with batch_size=None, or chunked must be True, "
            "got one that makes batches"
        )
    count = None if chunked else _length(source)
    goes_on = count is not None and count > plan.examples and not _counted(plan)
    if count not in (None, plan.examples) and not goes_on:
        raise InputError(f"source must have {plan.examples} samples, as the plan has, got {count}")


def _counted(plan: Plan) -> bool:
    """Tell whether an epoch is the whole source, and not the part that training takes of it."""
    return plan.epochs > 1 or plan.clock == "epochs"


def _length(source: Iterable[Any]) -> int | None:
    try:
        return len(source)  # type: ignore[arg-type]
    except TypeError:
        return None
