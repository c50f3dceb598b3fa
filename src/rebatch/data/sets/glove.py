"""GloVe word vectors, from the official text format (Pennington, Socher and Manning, 2014)."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from rebatch.data.sets.dataset import DataSet, Folder, Layout, Source
from rebatch.data.sets.pairs import PAD, UNKNOWN
from rebatch.errors import InputError, RunError

PREFERRED = "glove.840B.300d.txt"


@dataclass(frozen=True)
class Glove:
    """A file of vectors, a word and its numbers a line, read only when a matrix is asked for."""

    path: Path
    dimensions: int

    @property
    def counts(self) -> dict[str, int]:
        """Give the length of a vector."""
        return {"dimensions": self.dimensions}

    def matrix(self, vocabulary: Sequence[str], *, seed: int = 0, uncased: bool = False) -> Tensor:
        """Give a vector a word: zeros for padding and unknown, N(0, 1) for words GloVe lacks.

        ``uncased`` looks words up in lower case, for vectors that know no other (GloVe 6B).
        """
        generator = torch.Generator().manual_seed(seed)
        matrix = torch.randn(len(vocabulary), self.dimensions, generator=generator)
        places = defaultdict[bytes, list[int]](list)
        for place, word in enumerate(vocabulary):
            places[(word.lower() if uncased else word).encode()].append(place)
        self._fill(matrix, places)
        matrix[[PAD, UNKNOWN]] = 0.0
        return matrix

    def _fill(self, matrix: Tensor, places: Mapping[bytes, list[int]]) -> None:
        found = 0
        for number, word, values in self._vectors():
            if word in places:
                matrix[places[word]] = self._vector(number, values)
                found += 1
        if not found:
            raise RunError(f"{self.path} is not the right file: it has no word of the vocabulary")

    def _vectors(self) -> Iterator[tuple[int, bytes, bytes]]:
        """Give line number, word and numbers; a word with a blank in it is no token of ours."""
        with self.path.open("rb") as lines:
            for number, line in enumerate(lines, start=1):
                blanks = line.rstrip().count(b" ")
                if blanks < self.dimensions:
                    raise self._malformed(number, f"{blanks} numbers, not {self.dimensions}")
                if blanks == self.dimensions:
                    word, _, values = line.partition(b" ")
                    yield number, word, values

    def _vector(self, number: int, values: bytes) -> Tensor:
        try:
            vector = torch.tensor([float(value) for value in values.split()])
        except ValueError as error:
            raise self._malformed(number, str(error)) from error
        if len(vector) != self.dimensions or not vector.isfinite().all():
            raise self._malformed(number, "its numbers are not all finite")
        return vector

    def _malformed(self, number: int, why: str) -> RunError:
        return RunError(f"{self.path}, line {number}, is not a word and its vector: {why}")


def read_glove(folder: Folder) -> Glove:
    """Find the vectors: the 840B file of 300 dimensions, or else the one text file there."""
    return glove_file(_choose(folder))


def glove_file(path: Path) -> Glove:
    """Open one file of vectors; its first line tells the dimensions."""
    with path.open("rb") as lines:
        dimensions = lines.readline(2**20).rstrip().count(b" ")
    if dimensions < 2:
        raise RunError(f"{path}, line 1, is not a word and its vector: {dimensions} numbers")
    return Glove(path, dimensions)


def _choose(folder: Folder) -> Path:
    found = sorted(folder.path.glob("*.txt"))
    if folder.has(PREFERRED) or not found:
        return folder.file(PREFERRED)
    if len(found) > 1:
        names = ", ".join(path.name for path in found)
        raise InputError(f"data must hold one file of GloVe vectors, got {names}")
    return found[0]


# The project publishes no checksum for the archive.
GLOVE = DataSet(
    name="glove",
    what="word vectors",
    folder="glove",
    layouts=(Layout(files=(PREFERRED,), counts={"dimensions": 300}), Layout(files=("*.txt",))),
    read=read_glove,
    source=Source(
        url="https://nlp.stanford.edu/data/glove.840B.300d.zip",
        inside="",
        max_bytes=7_000_000_000,
    ),
)
