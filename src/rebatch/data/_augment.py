"""Augmentation as batched tensor work on the device where the images are.

Chance and work are apart: the numbers of a whole epoch are drawn at once, and a batch is given
its own rows of them.  So what happens to an image does not depend on how the epoch is cut.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import torch
from torch import Tensor, nn

from rebatch.errors import InputError, one_of, positive_int


class Augment(Protocol):
    """What a `TensorLoader` needs of an augmentation."""

    def draw(self, count: int, generator: torch.Generator) -> Tensor:
        """Return one row of random numbers for each of ``count`` images, on the CPU."""

    def __call__(self, images: Tensor, draws: Tensor) -> Tensor:
        """Return the images changed as their rows of ``draws`` say."""


@dataclass(frozen=True)
class crop_and_flip:
    """Shift every image by up to ``padding`` pixels and mirror every second one.

    The same as padding it on all sides, by reflection or with zeros, and cutting a part of the old
    size; a row of draws is (top, left, mirrored), and top = left = ``padding`` is the middle.

    >>> image = torch.arange(9).view(1, 1, 3, 3)
    >>> crop_and_flip(padding=1, mode="zero")(image, torch.tensor([[1, 0, 0]]))
    tensor([[[[0, 0, 1],
              [0, 3, 4],
              [0, 6, 7]]]])
    """

    padding: int = 4
    mode: Literal["reflect", "zero"] = "reflect"

    def __post_init__(self) -> None:
        positive_int("padding", self.padding, at_least=0)
        one_of("mode", self.mode, ("reflect", "zero"))

    def draw(self, count: int, generator: torch.Generator) -> Tensor:
        """Return ``[count, 3]``: top and left from 0 to twice the padding, mirrored 0 or 1."""
        corners = torch.randint(2 * self.padding + 1, (count, 2), generator=generator)
        mirrored = torch.randint(2, (count, 1), generator=generator)
        return torch.cat((corners, mirrored), dim=1).to(torch.int16)

    def __call__(self, images: Tensor, draws: Tensor) -> Tensor:
        """Return ``images [B, C, H, W]`` of any type, cropped and mirrored by one gather."""
        height, width = images.shape[-2:]
        self._check(height, width)
        top, left, mirrored = (draw[:, None] for draw in draws.unbind(1))
        across = torch.arange(width, device=images.device)
        across = torch.where(mirrored > 0, width - 1 - across, across)
        rows = torch.arange(height, device=images.device) + top - self.padding
        columns = across + left - self.padding
        pixels = _reflected(rows, height)[:, :, None] * width + _reflected(columns, width)[:, None]
        index = pixels.flatten(1)[:, None].expand(-1, images.shape[1], -1)
        cropped = images.flatten(2).gather(2, index).view(images.shape)
        if self.mode == "reflect":
            return cropped
        outside = _outside(rows, height)[:, :, None] | _outside(columns, width)[:, None]
        return cropped.masked_fill_(outside[:, None], 0)

    def _check(self, height: int, width: int) -> None:
        if self.padding >= min(height, width):
            raise InputError(
                f"padding must be smaller than the images, {height} x {width}, got {self.padding}"
            )


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


def _reflected(position: Tensor, size: int) -> Tensor:
    """Return positions outside 0 … size-1 mirrored at the edge pixel."""
    return size - 1 - (size - 1 - position.abs()).abs()


def _outside(position: Tensor, size: int) -> Tensor:
    return (position < 0) | (position >= size)
