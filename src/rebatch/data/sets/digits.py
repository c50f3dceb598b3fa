"""The 1,797 handwritten digits of 8 x 8 pixels that ship with the package.

They are the test part of "Optical Recognition of Handwritten Digits" by E. Alpaydin and C. Kaynak
(UCI Machine Learning Repository, 1998, https://doi.org/10.24432/C50P49, licence CC BY 4.0),
in the order in which scikit-learn's ``load_digits`` has them. Unchanged but for the file format.
"""

from importlib.resources import as_file, files

import numpy as np
import torch

from rebatch.data.sets.dataset import DataSet, Folder, Layout
from rebatch.data.sets.images import Images

TRAIN = 1437


def read_digits(folder: Folder | None = None) -> Images:
    """Read the digits: the first 1,437 to train on, the last 360 to test on.

    The order is by writer, so the cut keeps most writers of the test part out of training.

    >>> read_digits().train_images.shape
    torch.Size([1437, 1, 8, 8])
    """
    with as_file(files("rebatch.data.sets") / "digits.npz") as path:
        stored = np.load(path, allow_pickle=False)
        images = torch.from_numpy(stored["images"]).unsqueeze(1)
        labels = torch.from_numpy(stored["labels"]).long()
    return Images(
        images[:TRAIN], labels[:TRAIN], images[TRAIN:], labels[TRAIN:], num_classes=10, peak=16
    )


DIGITS = DataSet(
    name="digits",
    what="handwritten digits, 10 classes",
    folder="",
    layouts=(Layout(files=(), counts={"train": 1437, "test": 360, "classes": 10}),),
    read=read_digits,
)
