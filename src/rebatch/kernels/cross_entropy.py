"""The cross-entropy of many classes in Triton: logits are read once each way, as they are.

PyTorch widens logits of half precision, writes the logarithms of all probabilities, and goes the
same way back: over a vocabulary that is most of what a language model moves through memory.  Here
a row keeps one number for the way back, the logarithm of its sum.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator"
# Triton reads the kernels' own annotations, and has none for its decorator.

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.autograd.function import once_differentiable

BLOCK = 4096
"""Classes that a program takes at a time."""
WARPS = 8
LEAST = tl.constexpr(-1e30)
"""Stands for no logit at all: finite, so that differences of it are numbers."""


@triton.jit
def _forward(logits, targets, losses, sums, width, T: tl.constexpr, B: tl.constexpr):
    """Find a row's loss, and the logarithm of the sum of its exponentials."""
    row = tl.program_id(0)
    start = logits + row.to(tl.int64) * width
    each = tl.arange(0, B)
    most, total = tl.full((B,), LEAST, tl.float32), tl.zeros((B,), tl.float32)
    for at in range(0, T * B, B):
        x = tl.load(start + at + each, at + each < width, LEAST).to(tl.float32)
        higher = tl.maximum(most, x)
        total = total * tl.exp(most - higher) + tl.exp(x - higher)
        most = higher
    top = tl.max(most, axis=0)
    found = top + tl.log(tl.sum(total * tl.exp(most - top), axis=0))
    tl.store(sums + row, found)
    tl.store(losses + row, found - tl.load(start + tl.load(targets + row)).to(tl.float32))


@triton.jit
def _backward(logits, targets, sums, share, change, width, B: tl.constexpr):
    """Give a row its gradient: probabilities less what was right, times a share of the mean."""
    row, each = tl.program_id(0), tl.program_id(1) * B + tl.arange(0, B)
    place = row.to(tl.int64) * width + each
    x = tl.load(logits + place, each < width, 0.0).to(tl.float32)
    found = tl.exp(x - tl.load(sums + row)) - (each == tl.load(targets + row)).to(tl.float32)
    tl.store(change + place, (found * tl.load(share)).to(change.dtype.element_ty), each < width)


class _CrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, logits: Tensor, targets: Tensor) -> Any:
        logits = logits.contiguous()
        rows, width = logits.shape
        losses, sums = torch.empty((2, rows), device=logits.device, dtype=torch.float32)
        tiles = triton.cdiv(width, BLOCK)
        _forward[rows,](
            logits, targets, losses, sums, width, T=tiles, B=BLOCK, num_warps=WARPS
        )  # fmt: skip
        ctx.save_for_backward(logits, targets, sums)
        return losses.mean()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, given: Tensor) -> Any:
        logits, targets, sums = ctx.saved_tensors
        rows, width = logits.shape
        change = torch.empty_like(logits)
        grid = (rows, triton.cdiv(width, BLOCK))
        _backward[grid](
            logits, targets, sums, given / rows, change, width, B=BLOCK, num_warps=WARPS
        )  # fmt: skip
        return change, None


def mean_cross_entropy(logits: Tensor, targets: Tensor) -> Tensor:
    """Return what ``cross_entropy(logits.float(), targets)`` does, without second derivatives."""
    loss: Tensor = _CrossEntropy.apply(logits, targets)
    return loss
