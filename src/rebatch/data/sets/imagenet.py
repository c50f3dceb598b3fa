"""ImageNet as folders, ``train/<wnid>/*.JPEG`` and ``val/<wnid>/*.JPEG``, decoded as read."""

import os
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rebatch.data.sets.crops import decode, evaluation_crop, training_crop
from rebatch.data.sets.dataset import DataSet, Folder, Layout
from rebatch.errors import InputError, RunError

if TYPE_CHECKING:
    from PIL.Image import Image

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
ENDINGS = (b".jpeg", b".jpg", b".png")


class ImageFolder(torch.utils.data.Dataset[tuple[Tensor, int]]):
    """A map-style data set: image ``[3, 224, 224]`` as uint8, and label; picklable for workers.

    With ``train`` an image is cropped and flipped by chance, and the chance depends on
    (seed, epoch, index) alone: not on workers, ranks or the order of reading.
    """

    def __init__(self, path: Path, *, train: bool, seed: int = 0) -> None:
        self.path, self.train, self.seed = path, train, seed
        self.classes = _classes(path)
        # One array, not a million strings: workers that touch Python objects copy their pages.
        self.names, self.labels = _index(path, self.classes)
        # In shared memory, so that workers that outlive an epoch see the next one.
        self.epoch = torch.zeros((), dtype=torch.int64).share_memory_()  # type: ignore[no-untyped-call]

    def set_epoch(self, epoch: int) -> None:
        """Draw other crops from here on."""
        self.epoch.fill_(epoch)

    def __len__(self) -> int:
        return len(self.names)

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        if not self.train:
            return self.plain(index)
        image, label = self._read(index)
        return training_crop(image, f"{self.seed}-{int(self.epoch)}-{index}"), label

    def plain(self, index: int) -> tuple[Tensor, int]:
        """Return the centre of an image, and its label."""
        image, label = self._read(index)
        return evaluation_crop(image), label

    def _read(self, index: int) -> "tuple[Image, int]":
        label = int(self.labels[index])
        path = self.path / self.classes[label] / os.fsdecode(bytes(self.names[index]))
        return decode(path), label


@dataclass(frozen=True)
class ImageFolders:
    """The training and the validation images."""

    train: ImageFolder
    valid: ImageFolder
    num_classes: int

    @property
    def counts(self) -> dict[str, int]:
        """Give the number of images of each split, and of classes."""
        return {"train": len(self.train), "valid": len(self.valid), "classes": self.num_classes}


def read_imagenet(folder: Folder, *, seed: int = 0) -> ImageFolders:
    """Index both folders, which must have the same classes."""
    if find_spec("PIL") is None:
        advice = "run: pip install 'rebatch[images]'"
        raise InputError(f"pillow must be installed to read images, got none; {advice}")
    train = ImageFolder(folder.file("train"), train=True, seed=seed)
    valid = ImageFolder(folder.file("val"), train=False, seed=seed)
    if train.classes != valid.classes:
        odd = sorted(set(train.classes) ^ set(valid.classes))
        raise RunError(f"{folder.path} is not complete: {odd[0]} is not in both train and val")
    return ImageFolders(train, valid, len(train.classes))


def _classes(path: Path) -> tuple[str, ...]:
    classes = tuple(sorted(entry.name for entry in os.scandir(path) if entry.is_dir()))
    if not classes:
        raise RunError(f"{path} is not a folder of classes: no folder a class in it")
    return classes


def _index(path: Path, classes: tuple[str, ...]) -> tuple[NDArray[np.bytes_], NDArray[np.int64]]:
    names: list[NDArray[np.bytes_]] = []
    for name in classes:
        files = (os.fsencode(file) for file in os.listdir(path / name))
        images = sorted(file for file in files if file.lower().endswith(ENDINGS))
        if not images:
            raise RunError(f"{path / name} is not a class: no image in it")
        names.append(np.array(images))
    labels = np.repeat(np.arange(len(classes)), [len(images) for images in names])
    return np.concatenate(names), labels


IMAGENET = DataSet(
    name="imagenet",
    what="ILSVRC 2012, 1,000 classes",
    folder="imagenet",
    layouts=(
        Layout(
            files=("train", "val"), counts={"train": 1_281_167, "valid": 50_000, "classes": 1000}
        ),
    ),
    read=read_imagenet,
    advice="ask for it at https://image-net.org, then arrange it as docs/data.md says",
)
