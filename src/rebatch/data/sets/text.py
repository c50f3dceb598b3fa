"""Penn Treebank and WikiText-2 as streams of word numbers."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from rebatch.data.sets.dataset import DataSet, Folder, Layout, Source
from rebatch.errors import RunError

EOS = "<eos>"


@dataclass(frozen=True)
class TextCorpus:
    """Three streams of word numbers (int64), and the words; a word's place is its number."""

    train: Tensor
    valid: Tensor
    test: Tensor
    vocabulary: tuple[str, ...]

    @property
    def counts(self) -> dict[str, int]:
        """Give the number of tokens of each split, and of different words."""
        splits = {"train": self.train, "valid": self.valid, "test": self.test}
        return {name: len(split) for name, split in splits.items()} | {
            "vocabulary": len(self.vocabulary)
        }


def read_text(folder: Folder, *, pattern: str) -> TextCorpus:
    """Read the splits; words are numbered as they first occur in train, valid, test."""
    numbers: dict[str, int] = {}
    train, valid, test = (
        _stream(folder.file(pattern.format(split)), numbers) for split in ("train", "valid", "test")
    )
    return TextCorpus(train, valid, test, tuple(numbers))


def _stream(path: Path, numbers: dict[str, int]) -> Tensor:
    stream = np.fromiter(
        (numbers.setdefault(word, len(numbers)) for word in _words(path)), dtype=np.int64
    )
    if not len(stream):
        raise RunError(f"{path} is not a text to learn from: it is empty")
    return torch.from_numpy(stream)


def _words(path: Path) -> Iterator[str]:
    """Give the words of every line, and the end of the line as a word of its own."""
    try:
        with path.open(encoding="utf-8", newline="\n") as lines:
            for line in lines:
                yield from line.split()
                yield EOS
    except UnicodeDecodeError as error:
        raise RunError(f"{path} is not a text in UTF-8: {error}") from error


def _layout(pattern: str, train: int, valid: int, test: int, vocabulary: int) -> Layout:
    return Layout(
        files=tuple(pattern.format(split) for split in ("train", "valid", "test")),
        counts={"train": train, "valid": valid, "test": test, "vocabulary": vocabulary},
    )


# Neither archive has a published checksum; the counts are the ones the literature reports.
PTB = DataSet(
    name="ptb",
    what="Penn Treebank, 10,000 words",
    folder="penn-treebank",
    layouts=(_layout("ptb.{}.txt", 929_589, 73_760, 82_430, 10_000),),
    read=partial(read_text, pattern="ptb.{}.txt"),
    source=Source(
        url="https://www.fit.vutbr.cz/~imikolov/rnnlm/simple-examples.tgz",
        inside="simple-examples/data",
        max_bytes=500_000_000,
    ),
)
WIKITEXT2 = DataSet(
    name="wikitext-2",
    what="Wikipedia, 33,278 words",
    folder="wikitext-2",
    layouts=(_layout("wiki.{}.tokens", 2_088_628, 217_646, 245_569, 33_278),),
    read=partial(read_text, pattern="wiki.{}.tokens"),
    source=Source(
        # The first author's own copy: the address of the paper refuses everybody since 2024.
        url="https://wikitext.smerity.com/wikitext-2-v1.zip",
        inside="wikitext-2",
        max_bytes=50_000_000,
    ),
)
