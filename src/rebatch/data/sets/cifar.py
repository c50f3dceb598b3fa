"""CIFAR-10 and CIFAR-100, from the official python archives (A. Krizhevsky, 2009)."""

from functools import partial
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from rebatch.data.sets.dataset import DataSet, Folder, Layout, Source
from rebatch.data.sets.images import Images
from rebatch.data.sets.pickles import read_pickle
from rebatch.errors import RunError


def read_cifar(
    folder: Folder, *, train: tuple[str, ...], test: str, key: str, num_classes: int
) -> Images:
    """Read the training batches, in order, and the test batch."""
    batches = [_batch(folder.file(name), key, num_classes) for name in train]
    train_images, train_labels = (torch.cat(parts) for parts in zip(*batches, strict=True))
    test_images, test_labels = _batch(folder.file(test), key, num_classes)
    return Images(train_images, train_labels, test_images, test_labels, num_classes)


def _batch(path: Path, key: str, num_classes: int) -> tuple[Tensor, Tensor]:
    """Read one file: 3,072 bytes an image (red, green, blue planes) and the labels at ``key``."""
    stored = read_pickle(path)
    try:
        images = torch.from_numpy(stored["data"].numpy().copy()).reshape(-1, 3, 32, 32)
        labels = torch.from_numpy(np.array(stored[key], dtype=np.int64))
        if stored["data"].shape != (len(labels), 3072) or labels.ndim != 1:
            raise ValueError(f"{len(labels)} labels for data of shape {stored['data'].shape}")
        if labels.min() < 0 or labels.max() >= num_classes:
            raise ValueError(f"a label is not below {num_classes}")
    except Exception as error:  # whatever a foreign pickle holds in the place of arrays
        raise RunError(f"{path} is not a CIFAR batch: {error!r}") from error
    return images, labels


# The md5 sums stand beside the archives on https://www.cs.toronto.edu/~kriz/cifar.html.
CIFAR10 = DataSet(
    name="cifar10",
    what="colour images, 10 classes",
    folder="cifar-10-batches-py",
    layouts=(
        Layout(
            files=(*(f"data_batch_{i}" for i in range(1, 6)), "test_batch"),
            counts={"train": 50_000, "test": 10_000, "classes": 10},
        ),
    ),
    read=partial(
        read_cifar,
        train=tuple(f"data_batch_{i}" for i in range(1, 6)),
        test="test_batch",
        key="labels",
        num_classes=10,
    ),
    source=Source(
        url="https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz",
        checksum="md5:c58f30108f718f92721af3b95e74349a",
        inside="cifar-10-batches-py",
        max_bytes=300_000_000,
    ),
)
CIFAR100 = DataSet(
    name="cifar100",
    what="colour images, 100 classes",
    folder="cifar-100-python",
    layouts=(
        Layout(files=("train", "test"), counts={"train": 50_000, "test": 10_000, "classes": 100}),
    ),
    read=partial(read_cifar, train=("train",), test="test", key="fine_labels", num_classes=100),
    source=Source(
        url="https://www.cs.toronto.edu/~kriz/cifar-100-python.tar.gz",
        checksum="md5:eb9058c3a382ffc7106e4002c42a8d85",
        inside="cifar-100-python",
        max_bytes=300_000_000,
    ),
)
