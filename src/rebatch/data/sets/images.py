"""Images held in memory, with their labels."""

from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True)
class Images:
    """Images as uint8 ``[N, channels, height, width]`` and labels as int64 ``[N]``.

    ``peak`` is the value of a full pixel: ``images / peak`` lies in [0, 1].
    """

    train_images: Tensor
    train_labels: Tensor
    test_images: Tensor
    test_labels: Tensor
    num_classes: int
    peak: int = 255

    @property
    def counts(self) -> dict[str, int]:
        """Give the number of images of each split, and of the classes that occur."""
        classes = len(set(self.train_labels.tolist()))
        return {"train": len(self.train_images), "test": len(self.test_images), "classes": classes}
