"""A bias and the rectifier behind it, in Triton: one pass each way over images.

The way back sums the gradient of the bias while it reads, strip by strip, and never in an order
that changes.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator"
# Triton reads the kernels' own annotations, and has none for its decorator.

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor, channels_last
from torch.autograd.function import once_differentiable

from rebatch.kernels.strips import WARPS, Cut, own_strip


@triton.jit(do_not_specialize=["rows"])
def _rectify(
    images, bias, output, rows, width,
    N: tl.constexpr, T: tl.constexpr, R: tl.constexpr, C: tl.constexpr,
):  # fmt: skip
    """Add the bias to a strip, and rectify."""
    channel = tl.program_id(2) * C + tl.arange(0, C)
    first, own, _ = own_strip(tl.program_id(0), 0, rows, rows, T * R)
    row = tl.arange(0, R)
    start = first * width + channel[None, :]
    offset = tl.load(bias + channel)[None, :]
    for at in range(0, T * R, R):
        known = (at + row < own)[:, None]
        place = start + (at + row)[:, None] * width
        y = tl.load(images + place, known, 0.0).to(tl.float32) + offset
        y = tl.maximum(y, 0.0, propagate_nan=tl.PropagateNan.ALL)
        tl.store(output + place, y.to(output.dtype.element_ty), known)


@triton.jit(do_not_specialize=["rows"])
def _back(
    given, output, change, sums, rows, width,
    N: tl.constexpr, T: tl.constexpr, R: tl.constexpr, C: tl.constexpr,
):  # fmt: skip
    """Give a strip the gradient where it was let through, and sum that."""
    block = tl.program_id(0)
    channel = tl.program_id(2) * C + tl.arange(0, C)
    first, own, _ = own_strip(block, 0, rows, rows, T * R)
    row = tl.arange(0, R)
    start = first * width + channel[None, :]
    total = tl.zeros((R, C), tl.float32)
    for at in range(0, T * R, R):
        known = (at + row < own)[:, None]
        place = start + (at + row)[:, None] * width
        dy = tl.load(given + place, known, 0.0)
        dy = tl.where(tl.load(output + place, known, 0.0) > 0, dy, 0.0)
        tl.store(change + place, dy, known)
        total += dy.to(tl.float32)
    tl.store(sums + block * width + channel, tl.sum(total, axis=0))


class _BiasReLU(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, images: Tensor, bias: Tensor) -> Any:
        images = images.contiguous(memory_format=channels_last)
        cut, output = Cut.of(images, len(images)), torch.empty_like(images)
        _rectify[cut.grid()](
            images, bias, output, cut.rows, cut.width, **cut.shape, num_warps=WARPS
        )  # fmt: skip
        ctx.save_for_backward(output)
        ctx.cut = cut
        return output

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, given: Tensor) -> Any:
        (output,) = ctx.saved_tensors
        cut: Cut = ctx.cut
        given = given.contiguous(memory_format=channels_last)
        change, sums = torch.empty_like(output), cut.sums(output)[0]
        _back[cut.grid()](
            given, output, change, sums, cut.rows, cut.width, **cut.shape, num_warps=WARPS
        )  # fmt: skip
        return change, sums.sum(0)


def bias_relu(images: Tensor, bias: Tensor) -> Tensor:
    """Return what ``relu(images + bias)`` does, with a number of ``bias`` for each channel."""
    output: Tensor = _BiasReLU.apply(images, bias)
    return output
