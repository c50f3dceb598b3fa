"""Augmentation as batched tensor work on the device where the images are.

Chance and work are apart: the numbers of a whole epoch are drawn at once, and a batch is given
its own rows of them.  So what happens to an image does not depend on how the epoch is cut.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import torch
from torch import Tensor, nn

from rebatch.errors import InputError, hold_plain, one_of, positive_int

OUTSIDE = -(2**30)
"""Stands for a row or column of zeros: whatever is added, the pixel stays negative."""


class Augment(Protocol):
    """What a `TensorLoader` needs of an augmentation."""

    def draw(self, count: int, generator: torch.Generator) -> Tensor:
        """Return one row of random numbers for each of ``count`` images, on the CPU."""

    def prepare(self, draws: Tensor, images: Tensor) -> Tensor:
        """Return a row for each row of ``draws``, worked out once for all images of an epoch."""

    def __call__(self, images: Tensor, prepared: Tensor) -> Tensor:
        """Return the images of a batch changed as their rows say."""


@dataclass(frozen=True)
class crop_and_flip:
    """Shift every image by up to ``padding`` pixels and mirror every second one.

    The same as padding it on all sides, by reflection or with zeros, and cutting a part of the old
    size; a row of draws is (top, left, mirrored), and top = left = ``padding`` is the middle.

    >>> image = torch.arange(9).view(1, 1, 3, 3)
    >>> augment = crop_and_flip(padding=1, mode="zero")
    >>> augment(image, augment.prepare(torch.tensor([[1, 0, 0]]), image))
    tensor([[[[0, 0, 1],
              [0, 3, 4],
              [0, 6, 7]]]])
    """

    padding: int = 4
    mode: Literal["reflect", "zero"] = "reflect"

    def __post_init__(self) -> None:
        hold_plain(self)
        positive_int("padding", self.padding, at_least=0)
        one_of("mode", self.mode, ("reflect", "zero"))

    def draw(self, count: int, generator: torch.Generator) -> Tensor:
        """Return ``[count, 3]``: top and left from 0 to twice the padding, mirrored 0 or 1."""
        corners = torch.randint(2 * self.padding + 1, (count, 2), generator=generator)
        mirrored = torch.randint(2, (count, 1), generator=generator)
        return torch.cat((corners, mirrored), dim=1)

    def prepare(self, draws: Tensor, images: Tensor) -> Tensor:
        """Return where the rows, then the columns of every crop are read: pixel = row + column."""
        height, width = images.shape[-2:]
        if self.padding >= min(height, width):
            raise InputError(
                f"padding must be smaller than the images, {height} x {width}, got {self.padding}"
            )
        top, left, mirrored = draws.unsqueeze(-1).unbind(1)
        across = torch.arange(width, device=draws.device)
        across = torch.where(mirrored > 0, width - 1 - across, across)
        down = torch.arange(height, device=draws.device)
        rows = self._read(down + top - self.padding, height) * width
        return torch.cat((rows, self._read(across + left - self.padding, width)), dim=1)

    def __call__(self, images: Tensor, prepared: Tensor) -> Tensor:
        """Return ``images [B, C, H, W]`` of any type, cropped and mirrored by one gather."""
        height = images.shape[-2]
        rows, columns = prepared[:, :height], prepared[:, height:]
        pixels = (rows.unsqueeze(2) + columns.unsqueeze(1)).flatten(1).unsqueeze(1)
        if self.mode == "reflect":
            cropped = _gathered(images, pixels)
        else:
            cropped = _gathered(images, pixels.clamp(min=0)).masked_fill_(pixels < 0, 0)
        return cropped.view(images.shape)

    def _read(self, position: Tensor, size: int) -> Tensor:
        """Return the pixel to read: mirrored at the edge, or `OUTSIDE` where zeros are padded."""
        if self.mode == "reflect":
            return size - 1 - (size - 1 - position.abs()).abs()
        return position.where((position >= 0) & (position < size), OUTSIDE)


class Normalize(nn.Module):
    """Turn images of 0 to 255 into floats: ``(x / 255 - mean) / std`` for each channel.

    Float images are taken as 0 to 1 already.

    >>> Normalize(mean=[0.5], std=[0.25])(torch.tensor([[[[0, 255]]]], dtype=torch.uint8))
    tensor([[[[-2.,  2.]]]])
    """

    mean: Tensor
    std: Tensor

    def __init__(self, mean: Sequence[float], std: Sequence[float]) -> None:
        super().__init__()
        if len(mean) != len(std) or not min(std) > 0:
            raise InputError(f"std must be above 0 for each of {len(mean)} channels, got {std}")
        for name, values in (("mean", mean), ("std", std)):
            self.register_buffer(name, torch.tensor(values).view(-1, 1, 1), persistent=False)

    def forward(self, images: Tensor) -> Tensor:
        """Return the normalised images."""
        scaled = images if images.is_floating_point() else images / 255
        return (scaled - self.mean) / self.std


def _gathered(images: Tensor, pixels: Tensor) -> Tensor:
    return images.flatten(2).gather(2, pixels.expand(-1, images.shape[1], -1))
