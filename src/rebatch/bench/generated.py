"""Data of the right shape, made up: so that a measurement needs no download.

Words come as often as in a text, by Zipf's law; pixels and labels are noise.
"""

from functools import lru_cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from rebatch.data.sets import ImageFolder, ImageFolders, Images, Pairs, PairSplit, TextCorpus
from rebatch.recipes import Recipe

WORDS, TOKENS = 10_000, 929_589
"""Penn Treebank's."""
PICTURES, PAIRS, IMAGENET = 50_000, 549_367, 1_281_167
"""Training samples of CIFAR-10, SNLI and ImageNet."""
HELD_OUT = 32
"""Held-out samples: next to nothing, because evaluation is not what is measured."""


def generate(recipe: Recipe, share: float = 1.0) -> Any:
    """Return made-up data for a recipe; a ``share`` below 1 makes the epoch shorter."""
    return _generated(recipe.model[0], share)


@lru_cache(maxsize=1)  # the sizes of a model come one after the other
def _generated(kind: str, share: float) -> Any:
    generator = torch.Generator().manual_seed(0)
    if kind == "L":
        return _text(int(TOKENS * share), generator)
    if kind == "E":
        return _pairs(int(PAIRS * share), generator)
    if kind == "I":
        return _folders(int(IMAGENET * share), generator)
    if kind == "d":
        return _images(int(1437 * max(share, 0.1)), (1, 8, 8), 10, 16, generator)
    return _images(int(PICTURES * share), (3, 32, 32), 10, 255, generator)


def large_images(count: int = 1024) -> Images:
    """Return images of ImageNet's shape to be held on the device."""
    return _images(count, (3, 224, 224), 1000, 255, torch.Generator().manual_seed(0))


def write_vectors(root: Path) -> None:
    """Write a file of word vectors that knows one word: the others get random vectors."""
    (root / "glove").mkdir(parents=True, exist_ok=True)
    vector = " ".join(["0.1"] * 300)
    (root / "glove" / "glove.840B.300d.txt").write_text(f"word2 {vector}\n")


def _words(count: int, generator: torch.Generator, first: int = 0) -> Tensor:
    chances = 1 / torch.arange(1.0, WORDS + 1 - first)
    return torch.multinomial(chances, count, replacement=True, generator=generator) + first


def _text(tokens: int, generator: torch.Generator) -> TextCorpus:
    held_out = _words(HELD_OUT * 20, generator)
    vocabulary = tuple(f"word{number}" for number in range(WORDS))
    return TextCorpus(_words(tokens, generator), held_out, held_out, vocabulary)


def _pairs(count: int, generator: torch.Generator) -> Pairs:
    splits = {
        name: PairSplit(
            _sentences(size, 14, 6, generator),
            _sentences(size, 8, 3, generator),
            torch.randint(3, (size,), generator=generator),
        )
        for name, size in (("train", count), ("dev", HELD_OUT), ("test", HELD_OUT))
    }
    return Pairs(splits, tuple(f"word{number}" for number in range(WORDS)))


def _sentences(count: int, mean: float, deviation: float, generator: torch.Generator) -> Tensor:
    """Return sentences about as long as SNLI's, of 3 to 50 words, padded with 0."""
    lengths = mean + deviation * torch.randn(count, generator=generator)
    words = _words(count * 50, generator, first=2).view(count, 50)
    words[torch.arange(50) >= lengths.clamp(3, 50).round().unsqueeze(1)] = 0
    return words


def _images(
    count: int, shape: tuple[int, ...], classes: int, peak: int, generator: torch.Generator
) -> Images:
    def made(size: int) -> tuple[Tensor, Tensor]:
        images = torch.randint(peak + 1, (size, *shape), dtype=torch.uint8, generator=generator)
        return images, torch.randint(classes, (size,), generator=generator)

    return Images(*made(count), *made(HELD_OUT), num_classes=classes, peak=peak)


def _folders(count: int, generator: torch.Generator) -> ImageFolders:
    images = torch.randint(256, (256, 3, 224, 224), dtype=torch.uint8, generator=generator)
    return ImageFolders(GeneratedFolder(images, count), GeneratedFolder(images, HELD_OUT), 1000)


class GeneratedFolder(ImageFolder):
    """A folder of images that are in memory, a few of them again and again, mirrored at random."""

    def __init__(self, images: Tensor, count: int) -> None:
        self.images, self.count = images, count

    def set_epoch(self, epoch: int) -> None:
        """Every epoch is like the other."""

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        image = self.images[index % len(self.images)]
        return image.flip(2) if torch.rand(()) < 0.5 else image, index % 1000
