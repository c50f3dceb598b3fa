"""Pairs of sentences with a label, as padded word numbers."""

from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

PAD, UNKNOWN = 0, 1
SPECIAL = ("<pad>", "<unk>")
LABELS = {"entailment": 0, "neutral": 1, "contradiction": 2}

Pair = tuple[list[str], list[str], int]


@dataclass(frozen=True)
class PairSplit:
    """Word numbers ``[N, longest]``, padded with 0, and labels ``[N]``, all int64."""

    premises: Tensor
    hypotheses: Tensor
    labels: Tensor

    def __len__(self) -> int:
        return len(self.labels)


@dataclass(frozen=True)
class Pairs:
    """Splits by name, and the words; a word's place is its number, 0 pads, 1 is unknown."""

    splits: Mapping[str, PairSplit]
    vocabulary: tuple[str, ...]

    def __getitem__(self, split: str) -> PairSplit:
        return self.splits[split]

    @property
    def counts(self) -> dict[str, int]:
        """Give the number of pairs of each split."""
        return {name: len(split) for name, split in self.splits.items()}


def number_pairs(
    splits: Mapping[str, Iterable[Pair]],
    *,
    max_length: int,
    vocabulary: Sequence[str] | None = None,
) -> Pairs:
    """Number the words as they first occur, or by a ``vocabulary`` given; cut long sentences.

    >>> pairs = number_pairs({"train": [(["a", "b"], ["a"], 2)]}, max_length=50)
    >>> pairs.vocabulary, pairs["train"].premises.tolist()
    (('<pad>', '<unk>', 'a', 'b'), [[2, 3]])
    """
    numbers = {word: number for number, word in enumerate(vocabulary or SPECIAL)}

    def number(word: str) -> int:
        if vocabulary is not None:
            return numbers.get(word, UNKNOWN)
        return numbers.setdefault(word, len(numbers))

    numbered = {name: _number(rows, number, max_length) for name, rows in splits.items()}
    return Pairs(numbered, tuple(numbers))


def _number(rows: Iterable[Pair], number: Callable[[str], int], max_length: int) -> PairSplit:
    premises, hypotheses, labels = _Sentences(), _Sentences(), array("q")
    for premise, hypothesis, label in rows:
        premises.add([number(word) for word in premise[:max_length]])
        hypotheses.add([number(word) for word in hypothesis[:max_length]])
        labels.append(label)
    return PairSplit(premises.padded(), hypotheses.padded(), _tensor(labels))


class _Sentences:
    """Sentences end to end: half a million Python lists would take gigabytes."""

    def __init__(self) -> None:
        self.words, self.lengths = array("q"), array("q")

    def add(self, sentence: list[int]) -> None:
        # A sentence without words becomes an unknown word: attention over nothing is not a number.
        self.words.extend(sentence or [UNKNOWN])
        self.lengths.append(len(sentence) or 1)

    def padded(self) -> Tensor:
        lengths = _tensor(self.lengths)
        longest = int(lengths.max()) if len(lengths) else 0
        real = torch.arange(longest) < lengths.unsqueeze(1)
        padded = torch.full(real.shape, PAD)
        padded[real] = _tensor(self.words)
        return padded


def _tensor(numbers: "array[int]") -> Tensor:
    return torch.from_numpy(np.array(numbers, dtype=np.int64))
