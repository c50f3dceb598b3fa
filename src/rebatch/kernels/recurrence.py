"""The recurrence of an LSTM layer in Triton: one kernel for each time step and direction.

At a small batch cuDNN spends most of an update waiting: each step is a matrix product that hardly
fills the GPU, then a kernel for the gates.  Here product and gates are one kernel, which reads the
recurrent weights from the GPU's cache once.  Everything is padded with zeros to whole tiles, and
stays zero there.  Calling so many kernels takes the processor longer than cuDNN's one call, so this
is worth it where updates are captured as CUDA graphs.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator"
# Triton reads the kernels' own annotations, and has none for its decorator.

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.autograd.function import once_differentiable

UNITS = 16
"""Units of a layer that one program computes: the narrowest matrix product."""
TILE = 64
"""Sizes are padded to multiples of this."""
FORWARD = {"BK": TILE, "num_stages": 6, "num_warps": 4}
BACKWARD = {"BK": 4 * TILE, "num_stages": 4, "num_warps": 4}
"""How many of the summands a program takes at a time, and how many such parts are on their way."""


@triton.jit
def _sigmoid(x):
    return 1 / (1 + tl.exp(-x))


@triton.jit
def _tanh(x):
    return 2 / (1 + tl.exp(-2 * x)) - 1


@triton.jit(do_not_specialize=["step"])
def _forward(
    inputs, weight, hidden, cell, gates, step, rows,
    P: tl.constexpr, BM: tl.constexpr, BJ: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    """Make step ``step``: h and c behind it, and the gates as they were opened."""
    unit = tl.program_id(0) * BJ + tl.arange(0, BJ)
    row = tl.program_id(1) * BM + tl.arange(0, BM)
    own = row[:, None] * P + unit[None, :]
    gate = (step * rows * 4 + row[:, None] * 4) * P + unit[None, :]
    before = step * rows * P
    i = tl.load(inputs + gate).to(tl.float32)
    f = tl.load(inputs + gate + P).to(tl.float32)
    g = tl.load(inputs + gate + 2 * P).to(tl.float32)
    o = tl.load(inputs + gate + 3 * P).to(tl.float32)
    c = tl.load(cell + before + own)

    k = tl.arange(0, BK)
    h = hidden + before + row[:, None] * P + k[None, :]
    w = weight + unit[None, :] * P + k[:, None]
    for start in range(0, P, BK):
        a = tl.load(h + start)
        i = tl.dot(a, tl.load(w + start), i)
        f = tl.dot(a, tl.load(w + start + P * P), f)
        g = tl.dot(a, tl.load(w + start + 2 * P * P), g)
        o = tl.dot(a, tl.load(w + start + 3 * P * P), o)

    i, f, g, o = _sigmoid(i), _sigmoid(f), _tanh(g), _sigmoid(o)
    c = f * c + i * g
    tl.store(gates + gate, i)
    tl.store(gates + gate + P, f)
    tl.store(gates + gate + 2 * P, g)
    tl.store(gates + gate + 3 * P, o)
    tl.store(cell + before + rows * P + own, c)
    tl.store(hidden + before + rows * P + own, (o * _tanh(c)).to(hidden.dtype.element_ty))


@triton.jit(do_not_specialize=["step"])
def _backward(
    outputs, weight, cell, gates, changes, carried, step, rows, BEHIND: tl.constexpr,
    P: tl.constexpr, BM: tl.constexpr, BJ: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    """Go back over step ``step``: the gradient of its gates' inputs, and of the cell before it.

    ``BEHIND`` is the width of the gates of the step behind it, 0 where there is none.
    """
    unit = tl.program_id(0) * BJ + tl.arange(0, BJ)
    row = tl.program_id(1) * BM + tl.arange(0, BM)
    own = row[:, None] * P + unit[None, :]
    gate = (step * rows * 4 + row[:, None] * 4) * P + unit[None, :]
    here = step * rows * P + own
    dh = tl.load(outputs + here).to(tl.float32)
    i = tl.load(gates + gate)
    f = tl.load(gates + gate + P)
    g = tl.load(gates + gate + 2 * P)
    o = tl.load(gates + gate + 3 * P)
    c_before = tl.load(cell + here)
    c = _tanh(tl.load(cell + here + rows * P))
    dc = tl.load(carried + own)

    k = tl.arange(0, BK)
    behind = changes + ((step + 1) * rows + row[:, None]) * 4 * P + k[None, :]
    w = weight + k[:, None] * P + unit[None, :]
    for start in range(0, BEHIND, BK):
        dh = tl.dot(tl.load(behind + start), tl.load(w + start * P), dh)

    dc += dh * o * (1 - c * c)
    kind = changes.dtype.element_ty
    tl.store(changes + gate, (dc * g * i * (1 - i)).to(kind))
    tl.store(changes + gate + P, (dc * c_before * f * (1 - f)).to(kind))
    tl.store(changes + gate + 2 * P, (dc * i * (1 - g * g)).to(kind))
    tl.store(changes + gate + 3 * P, (dh * c * o * (1 - o)).to(kind))
    tl.store(carried + own, dc * f)


class _Recurrence(torch.autograd.Function):
    """All steps of a layer, given what its inputs add to the gates."""

    @staticmethod
    def forward(ctx: Any, inputs: Tensor, weight: Tensor, h: Tensor, c: Tensor) -> Any:
        steps, rows, width = inputs.shape
        size = width // 4
        hidden = inputs.new_empty(steps + 1, rows, size)
        cell = inputs.new_empty(steps + 1, rows, size, dtype=torch.float32)
        gates = torch.empty_like(inputs, dtype=torch.float32)
        hidden[0], cell[0] = h, c
        grid, tile = _launch(rows, size)
        for step in range(steps):
            _forward[grid](
                inputs, weight, hidden, cell, gates, step, rows,
                P=size, **tile, **FORWARD,
            )  # fmt: skip
        ctx.save_for_backward(weight, hidden, cell, gates)
        ctx.mark_non_differentiable(last := cell[-1])
        return hidden[1:], last

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, outputs: Tensor, _: Any) -> Any:
        weight, hidden, cell, gates = ctx.saved_tensors
        steps, rows, width = gates.shape
        size = width // 4
        outputs = outputs.contiguous()
        changes = torch.empty_like(gates, dtype=weight.dtype)
        carried = cell.new_zeros(rows, size)
        grid, tile = _launch(rows, size)
        for step in reversed(range(steps)):
            _backward[grid](
                outputs, weight, cell, gates, changes, carried, step, rows,
                BEHIND=width if step + 1 < steps else 0,
                P=size, **tile, **BACKWARD,
            )  # fmt: skip
        flat = changes.view(-1, width)
        return changes, flat.t() @ hidden[:-1].reshape(-1, size), None, None


def _launch(rows: int, size: int) -> tuple[tuple[int, int], dict[str, int]]:
    block = block_of(rows)
    return (size // UNITS, rows // block), {"BM": block, "BJ": UNITS}


def block_of(rows: int) -> int:
    """Return how many rows one program computes."""
    return 16 if rows <= 16 else 32


def recur(inputs: Tensor, weight: Tensor, h: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
    """Return the outputs of all steps and the last cell, all of them padded.

    Args:
        inputs: what each step adds to the gates, ``[steps, rows, 4 * size]``.
        weight: of the recurrence, ``[4 * size, size]``.
        h: the output before the first step, ``[rows, size]``; no gradient is taken of it.
        c: the cell before the first step, likewise.
    """
    found: tuple[Tensor, Tensor] = _Recurrence.apply(inputs, weight, h, c)
    return found
