"""Reading a stream in amounts that the plan decides, from single samples or from chunks."""

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any, Protocol

from rebatch.data._chunks import Chunk, cut, joined, length


class Reader(Protocol):
    """One pass over a stream."""

    def read(self, size: int, start: int, stop: int) -> tuple[int, Any]:
        """Read on by ``size`` samples, or to the end.

        Return how many there were, and those from ``start`` to ``stop``, or the first one where
        there are none.
        """

    def batch(self, held: Any, start: int, stop: int) -> Any:
        """Return a part of what `read` gave as a batch."""


class Singles:
    """Reads a stream of single samples and collates what is asked for."""

    def __init__(self, source: Iterable[Any], collate: Callable[[list[Any]], Any]) -> None:
        self._samples, self._collate = iter(source), collate

    def read(self, size: int, start: int, stop: int) -> tuple[int, list[Any]]:
        """Keep the samples between ``start`` and ``stop`` of the next ``size``."""
        present, first, held = 0, [], []
        for place, sample in enumerate(islice(self._samples, size)):
            present += 1
            if place == 0:
                first = [sample]
            if start <= place < stop:
                held.append(sample)
        return present, held or first

    def batch(self, held: list[Any], start: int, stop: int) -> Any:
        """Collate a part of the samples."""
        return self._collate(held[start:stop])


class Chunks:
    """Reads a stream of chunks, each of as many samples as it likes, and cuts them anew."""

    def __init__(self, source: Iterable[Chunk]) -> None:
        self._chunks = iter(source)
        self._left: Chunk = None
        self._count = 0
        """Samples in what is left of the last chunk."""

    def read(self, size: int, start: int, stop: int) -> tuple[int, Chunk]:
        """Keep the samples between ``start`` and ``stop`` of the next ``size``."""
        place, held, first = 0, [], None
        for part, count in self._parts(size):
            first = cut(part, 0, 1) if first is None else first
            low, high = max(start - place, 0), min(stop - place, count)
            if low < high:
                held.append(cut(part, low, high))
            place += count
        return place, joined(held) if held else first

    def batch(self, held: Chunk, start: int, stop: int) -> Chunk:
        """Return a part of the joined chunk, as views."""
        return cut(held, start, stop)

    def _parts(self, size: int) -> Iterator[tuple[Chunk, int]]:
        while size and self._refill():
            taken = min(size, self._count)
            yield cut(self._left, 0, taken), taken
            self._left = cut(self._left, taken, self._count)
            self._count -= taken
            size -= taken

    def _refill(self) -> bool:
        while not self._count:
            try:
                self._left = next(self._chunks)
            except StopIteration:
                return False
            self._count = length(self._left)
        return True
