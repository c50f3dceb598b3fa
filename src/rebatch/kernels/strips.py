"""Images cut in strips: a program for each strip, group of samples and part of the channels.

Images are read as rows of channels, as they lie with channels last.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator"
# Triton reads the kernels' own annotations, and has none for its decorator.

from math import isqrt
from typing import NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor

CHANNELS = 32
"""The most channels that a program takes."""
TILE = 8192
"""Numbers that a program takes at a time."""
STRIPS = 128
"""The most strips of a group: every program reads the sums of all of them."""
WARPS = 8


@triton.jit
def own_strip(block, group, rows, own_rows, strip):
    """Return the first row of a strip, its rows, and those of its group: the last has fewer."""
    count = tl.minimum(own_rows, rows - group * own_rows)
    first = (group * own_rows + block * strip).to(tl.int64)
    return first, rows_of(block, count, strip), count


@triton.jit
def rows_of(block, count, strip):
    """Return how many rows each of these strips has in a group of ``count``."""
    return tl.maximum(tl.minimum(strip, count - block * strip), 0)


class Cut(NamedTuple):
    """How the rows of a batch are cut among programs."""

    rows: int
    own_rows: int
    """Of a group."""
    groups: int
    width: int
    shape: dict[str, int]
    """Strips of a group, tiles of a strip, rows and channels of a tile."""

    @classmethod
    def of(cls, images: Tensor, group: int) -> "Cut":
        """Cut a batch in whole groups of that many samples, and each group in strips."""
        samples, width, height, across = images.shape
        own = min(group, samples) * height * across
        channels = channels_of(width)
        # Each program reads its strip and the sums of all strips: that is to balance.
        strips = min(STRIPS, triton.next_power_of_2(max(2, isqrt(own // 4))) // 2)
        tile = TILE // channels
        shape = {"N": strips, "T": triton.cdiv(own, strips * tile), "R": tile, "C": channels}
        rows, groups = samples * height * across, triton.cdiv(samples, group)
        return cls(rows, own, groups, width, shape)

    def grid(self, extra: int = 0) -> tuple[int, int, int]:
        """Return a program for each strip, group and part of the channels."""
        return self.shape["N"] + extra, self.groups, self.width // self.shape["C"]

    def sums(self, like: Tensor) -> Tensor:
        """Return room for two numbers of each strip and channel."""
        shape = (2, self.groups * self.shape["N"], self.width)
        return torch.empty(shape, device=like.device, dtype=torch.float32)


def channels_of(width: int, most: int = CHANNELS) -> int:
    """Return how many of ``width`` channels a program takes: a power of two that divides it."""
    return min(most, width & -width)
