"""Data sets of the paper and the demo, one a file; ``load`` gives any of them.

>>> load("digits").counts
{'train': 1437, 'test': 360, 'classes': 10}
"""

from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal, overload

from rebatch.data.sets.cifar import CIFAR10, CIFAR100
from rebatch.data.sets.dataset import Counted, DataSet, data_root
from rebatch.data.sets.digits import DIGITS
from rebatch.data.sets.glove import GLOVE, Glove
from rebatch.data.sets.imagenet import IMAGENET, ImageFolder, ImageFolders
from rebatch.data.sets.images import Images
from rebatch.data.sets.nli import MULTINLI, SICK, SNLI
from rebatch.data.sets.pairs import Pairs, PairSplit
from rebatch.data.sets.text import PTB, WIKITEXT2, TextCorpus
from rebatch.errors import InputError

__all__ = [
    "SETS",
    "DataSet",
    "Glove",
    "ImageFolder",
    "ImageFolders",
    "Images",
    "PairSplit",
    "Pairs",
    "TextCorpus",
    "data_root",
    "find",
    "load",
]

SETS = (DIGITS, CIFAR10, CIFAR100, IMAGENET, PTB, WIKITEXT2, SNLI, MULTINLI, SICK, GLOVE)


def find(name: str) -> DataSet:
    """Give the data set of that name, or offer the nearest."""
    names = {data_set.name: data_set for data_set in SETS}
    if name in names:
        return names[name]
    nearest = get_close_matches(name, names, n=1, cutoff=0.5)
    hint = f"; did you mean {nearest[0]}?" if nearest else ""
    raise InputError(f"data set must be one of {', '.join(names)}, got {name}{hint}")


Root = str | Path | None


@overload
def load(name: Literal["digits", "cifar10", "cifar100"], root: Root = None) -> Images: ...
@overload
def load(name: Literal["ptb", "wikitext-2"], root: Root = None) -> TextCorpus: ...
@overload
def load(
    name: Literal["snli", "multinli", "sick"],
    root: Root = None,
    *,
    splits: Sequence[str] | None = None,
    max_length: int = 50,
    vocabulary: Sequence[str] | None = None,
) -> Pairs: ...
@overload
def load(name: Literal["imagenet"], root: Root = None, *, seed: int = 0) -> ImageFolders: ...
@overload
def load(name: Literal["glove"], root: Root = None) -> Glove: ...
@overload
def load(name: str, root: Root = None, **options: Any) -> Counted: ...
def load(name: str, root: Root = None, **options: Any) -> Counted:
    """Load a data set from below ``root`` (default: ``$REBATCH_DATA``, else ~/.cache/rebatch)."""
    data_set = find(name)
    return data_set.read(data_set.at(data_root(root)), **options)
