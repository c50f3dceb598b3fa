"""A batch sampler whose size may be changed at any time, for loops that work without a plan."""

from collections.abc import Collection, Iterator
from itertools import islice
from typing import Any

from torch.utils.data import Sampler

from rebatch.errors import positive_int


class ResizableBatchSampler(Sampler[list[Any]]):
    """Lists of indices of ``size`` each; set ``size`` and the next list has it.

    The size is read when a list is drawn, so a change inside an epoch loses and repeats nothing,
    with ``drop_last`` too.  Workers of a `DataLoader` draw ahead: a change applies to what they
    have not drawn yet, ``prefetch_factor * num_workers`` batches later.  A `PlannedBatchSampler`
    has no such delay, because its sizes are known beforehand.

    Built like torch's `BatchSampler`, but there is no ``batch_size`` to read: Accelerate would
    drop every batch of another size.

    >>> sampler = ResizableBatchSampler(range(10), 2)
    >>> batches = iter(sampler)
    >>> next(batches)
    [0, 1]
    >>> sampler.size = 5
    >>> list(batches)
    [[2, 3, 4, 5, 6], [7, 8, 9]]
    """

    def __init__(self, sampler: Collection[Any], batch_size: int, drop_last: bool = False) -> None:
        self.sampler, self.drop_last = sampler, drop_last
        self.size = batch_size
        self._drawn = _Drawn()

    @property
    def size(self) -> int:
        """How many indices the next list has."""
        return self._size

    @size.setter
    def size(self, value: int) -> None:
        self._size = positive_int("batch_size", value)

    def __len__(self) -> int:
        """Return the lists drawn of the epoch under way and those to come at the present size."""
        left = len(self.sampler) - self._drawn.samples
        return self._drawn.batches + (
            left // self.size if self.drop_last else -(-left // self.size)
        )

    def __iter__(self) -> Iterator[list[Any]]:
        """Give the lists of one epoch."""
        drawn = self._drawn = _Drawn()
        indices = iter(self.sampler)
        try:
            while batch := self._next(indices):
                drawn.batches += 1
                drawn.samples += len(batch)
                yield batch
        finally:
            # Also when a loop breaks off: the length is that of the next epoch again.
            drawn.batches = drawn.samples = 0

    def _next(self, indices: Iterator[Any]) -> list[Any]:
        size = self.size
        batch = list(islice(indices, size))
        return [] if self.drop_last and len(batch) < size else batch


class _Drawn:
    """What one pass has drawn so far; each pass has its own."""

    batches = samples = 0
