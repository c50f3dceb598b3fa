"""Max-pooling of 3x3 windows, two apart, in Triton: channels last, and no sums by chance order.

Every pixel asks the at most four windows that it lies in whether they took it, so the way back
writes each gradient once; PyTorch's adds them up atomically, in an order that changes.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator"
# Triton reads the kernels' own annotations, and has none for its decorator.

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor, channels_last
from torch.autograd.function import once_differentiable

from rebatch.kernels.strips import channels_of

TILE = 1024
"""Numbers that a program takes at a time."""
CHANNELS = 64
"""The most channels that a program takes."""
WARPS = 4


@triton.jit
def _own(rows, side, across, width, R: tl.constexpr, C: tl.constexpr):
    """Return a program's numbers, which of them there are, and image, row and column of each."""
    pixel = tl.program_id(0) * R + tl.arange(0, R)
    channel = tl.program_id(1) * C + tl.arange(0, C)
    line = pixel // across
    place = pixel.to(tl.int64)[:, None] * width + channel[None, :]
    return place, (pixel < rows)[:, None], line // side, line % side, pixel % across, channel


@triton.jit
def _at(image, y, x, side, across, width, channel):
    """Return where the channels of these pixels are."""
    return ((image * side + y) * across + x).to(tl.int64)[:, None] * width + channel[None, :]


@triton.jit
def _forward(
    images, output, taken, rows, height, across, pooled_height, pooled_across, width,
    R: tl.constexpr, C: tl.constexpr,
):  # fmt: skip
    """Find the largest number of a window, and which of the nine it is: the first, of equals."""
    place, own, image, row, column, channel = _own(
        rows, pooled_height, pooled_across, width, R, C
    )  # fmt: skip
    most = tl.full((R, C), float("-inf"), tl.float32)
    which = tl.zeros((R, C), tl.int32)
    for tap in tl.static_range(9):
        y, x = 2 * row + (tap // 3 - 1), 2 * column + (tap % 3 - 1)
        inside = own & ((y >= 0) & (y < height) & (x >= 0) & (x < across))[:, None]
        there = images + _at(image, y, x, height, across, width, channel)
        found = tl.load(there, inside, float("-inf")).to(tl.float32)
        higher = (found > most) | (found != found)
        most, which = tl.where(higher, found, most), tl.where(higher, tap, which)
    tl.store(output + place, most.to(output.dtype.element_ty), own)
    tl.store(taken + place, which.to(tl.uint8), own)


@triton.jit
def _backward(
    given, taken, change, rows, height, across, pooled_height, pooled_across, width,
    R: tl.constexpr, C: tl.constexpr,
):  # fmt: skip
    """Give a pixel what the windows get that took it."""
    place, own, image, row, column, channel = _own(rows, height, across, width, R, C)
    total = tl.zeros((R, C), tl.float32)
    for window in tl.static_range(4):
        # A window begins a pixel before its middle, so even pixels are in one of each pair only.
        y, x = row // 2 + window // 2, column // 2 + window % 2
        tap = 3 * (row - 2 * y + 1) + (column - 2 * x + 1)
        inside = (y < pooled_height) & (x < pooled_across) & (row >= 2 * y - 1)
        inside = own & (inside & (column >= 2 * x - 1))[:, None]
        there = _at(image, y, x, pooled_height, pooled_across, width, channel)
        mine = inside & (tl.load(taken + there, inside, 255).to(tl.int32) == tap[:, None])
        total += tl.load(given + there, mine, 0.0).to(tl.float32)
    tl.store(change + place, total.to(change.dtype.element_ty), own)


def _launch(images: Tensor) -> tuple[int, tuple[int, int], dict[str, int]]:
    """Return the pixels of all images, a program for each part of them, and what it takes."""
    samples, width, height, across = images.shape
    channels = channels_of(width, CHANNELS)
    own, rows = TILE // channels, samples * height * across
    return rows, (triton.cdiv(rows, own), width // channels), {"R": own, "C": channels}


class _MaxPool(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, images: Tensor) -> Any:
        images = images.contiguous(memory_format=channels_last)
        samples, width, height, across = images.shape
        pooled = (samples, width, (height + 1) // 2, (across + 1) // 2)
        output = torch.empty(
            pooled, device=images.device, dtype=images.dtype, memory_format=channels_last
        )
        taken = torch.empty_like(output, dtype=torch.uint8)
        rows, grid, own = _launch(output)
        _forward[grid](
            images, output, taken, rows, height, across, *pooled[2:], width,
            **own, num_warps=WARPS,
        )  # fmt: skip
        ctx.save_for_backward(taken)
        ctx.shape = images.shape
        return output

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, given: Tensor) -> Any:
        (taken,) = ctx.saved_tensors
        given = given.contiguous(memory_format=channels_last)
        _, width, height, across = ctx.shape
        change = torch.empty(
            ctx.shape, device=given.device, dtype=given.dtype, memory_format=channels_last
        )
        rows, grid, own = _launch(change)
        _backward[grid](
            given, taken, change, rows, height, across, *given.shape[2:], width,
            **own, num_warps=WARPS,
        )  # fmt: skip
        return change


def max_pool(images: Tensor) -> Tensor:
    """Return what ``max_pool2d(images, 3, stride=2, padding=1)`` does."""
    output: Tensor = _MaxPool.apply(images)
    return output
