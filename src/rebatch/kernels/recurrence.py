"""The recurrence of an LSTM layer in Triton: one kernel for each time step and direction.

At a small batch cuDNN spends most of an update waiting: each step is a matrix product that hardly
fills the GPU, then a kernel for the gates.  Here product and gates are one kernel, which reads the
recurrent weights from the GPU's cache once.  Everything is padded with zeros to whole tiles, and
stays zero there.  Calling so many kernels takes the processor longer than cuDNN's one call, so this
is worth it where updates are captured as CUDA graphs.

Going forward the weights are the left operand, the four gates of 16 units below each other: the 64
rows of the widest matrix product that the tensor cores take.  Going back 16 units are too few for
it, so each gate has a product of its own, on its own quarter of the processor, and the sum is taken
behind them.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator"
# Triton reads the kernels' own annotations, and has none for its decorator.

from functools import cache

import torch
import triton
import triton.language as tl
from torch import Tensor
from triton.runtime import driver

UNITS = 16
"""Units of a layer that one program computes."""
TILE = 128
"""Sizes are padded to multiples of this, which is how many summands a program takes at a time."""
ROWS = 16
"""The fewest columns of text that one program takes."""
STAGES = {"forward": 6, "backward": 4}
"""How many tiles are on their way at a time, where the memory of a processor suffices."""
SPARE = 4096
"""Bytes of it that are left to the rest of a kernel."""


@triton.jit
def _sigmoid(x):
    return 1 / (1 + tl.exp(-x))


@triton.jit
def _tanh(x):
    return 2 / (1 + tl.exp(-2 * x)) - 1


@triton.jit(do_not_specialize=["step"])
def _step(
    inputs, weight, hidden, cell, gates, step, rows,
    P: tl.constexpr, M: tl.constexpr, J: tl.constexpr, K: tl.constexpr,
):  # fmt: skip
    """Make step ``step``: h and c behind it, and the gates as they were opened."""
    unit = tl.program_id(0) * J + tl.arange(0, J)
    row = tl.program_id(1) * M + tl.arange(0, M)
    before = step * rows * P
    k = tl.arange(0, K)
    four = tl.arange(0, 4 * J)
    four = (four // J) * P + tl.program_id(0) * J + four % J
    w = weight + four[:, None] * P + k[None, :]
    h = hidden + before + row[None, :] * P + k[:, None]
    found = tl.zeros((4 * J, M), tl.float32)
    for start in range(0, P, K):
        found = tl.dot(tl.load(w + start), tl.load(h + start), found)
    added = inputs + (step * rows + row[None, :]) * 4 * P + four[:, None]
    found += tl.load(added).to(tl.float32)
    # Gates i, f, g, o come as pairs (i, f) and (g, o); taken apart by the second of a pair first.
    pairs = tl.permute(tl.reshape(found, (2, 2, J, M)), (2, 3, 0, 1))
    input_and_cell, forget_and_output = tl.split(pairs)
    i, g = tl.split(input_and_cell)
    f, o = tl.split(forget_and_output)

    own = row[None, :] * P + unit[:, None]
    gate = (step * rows * 4 + row[None, :] * 4) * P + unit[:, None]
    c = tl.load(cell + before + own)
    i, f, g, o = _sigmoid(i), _sigmoid(f), _tanh(g), _sigmoid(o)
    c = f * c + i * g
    tl.store(gates + gate, i)
    tl.store(gates + gate + P, f)
    tl.store(gates + gate + 2 * P, g)
    tl.store(gates + gate + 3 * P, o)
    tl.store(cell + before + rows * P + own, c)
    tl.store(hidden + before + rows * P + own, (o * _tanh(c)).to(hidden.dtype.element_ty))


@triton.jit(do_not_specialize=["step"])
def _step_back(
    outputs, turned, cell, gates, changes, carried, step, rows, LAST: tl.constexpr,
    P: tl.constexpr, M: tl.constexpr, J: tl.constexpr, K: tl.constexpr,
):  # fmt: skip
    """Go back over step ``step``: the gradient of its gates' inputs, and of the cell before it."""
    unit = tl.program_id(0) * J + tl.arange(0, J)
    row = tl.program_id(1) * M + tl.arange(0, M)
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
    if not LAST:
        k = tl.arange(0, 4)[:, None, None] * P + tl.arange(0, K)[None, None, :]
        behind = changes + ((step + 1) * rows + row[None, :, None]) * 4 * P + k
        w = turned + unit[None, None, :] * 4 * P + tl.permute(k, (0, 2, 1))
        each = tl.zeros((4, M, J), tl.float32)
        for start in range(0, P, K):
            each = tl.dot(tl.load(behind + start), tl.load(w + start), each)
        dh += tl.sum(each, axis=0)

    dc += dh * o * (1 - c * c)
    kind = changes.dtype.element_ty
    tl.store(changes + gate, (dc * g * i * (1 - i)).to(kind))
    tl.store(changes + gate + P, (dc * c_before * f * (1 - f)).to(kind))
    tl.store(changes + gate + 2 * P, (dc * i * (1 - g * g)).to(kind))
    tl.store(changes + gate + 3 * P, (dh * c * o * (1 - o)).to(kind))
    tl.store(carried + own, dc * f)


def go_forward(
    inputs: Tensor, weight: Tensor, h: Tensor, c: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Return h and c before every step and behind the last, and the gates of every step.

    Args:
        inputs: what each step adds to the gates, ``[steps, rows, 4 * size]``, padded.
        weight: of the recurrence, ``[4 * size, size]``, padded.
        h: the output before the first step, ``[rows, size]``, padded.
        c: the cell before the first step, likewise.
    """
    steps, rows, width = inputs.shape
    size = width // 4
    hidden = inputs.new_empty(steps + 1, rows, size)
    cell = inputs.new_empty(steps + 1, rows, size, dtype=torch.float32)
    gates = torch.empty_like(inputs, dtype=torch.float32)
    hidden[0], cell[0] = h, c
    columns = 2 * ROWS if rows % (2 * ROWS) == 0 else ROWS
    stages = _stages("forward", (4 * UNITS + columns) * TILE * inputs.itemsize, inputs.device)
    for step in range(steps):
        _step[size // UNITS, rows // columns](
            inputs, weight, hidden, cell, gates, step, rows,
            P=size, M=columns, J=UNITS, K=TILE, num_stages=stages, num_warps=4,
        )  # fmt: skip
    return hidden, cell, gates


def go_back(outputs: Tensor, turned: Tensor, cell: Tensor, gates: Tensor) -> Tensor:
    """Return the gradient of the gates' inputs, given that of the outputs of every step.

    ``turned`` is the weight of the recurrence, transposed; all others are as `go_forward` has them.
    """
    steps, rows, width = gates.shape
    size = width // 4
    changes = torch.empty_like(gates, dtype=turned.dtype)
    carried = cell.new_zeros(rows, size)
    stages = _stages("backward", 4 * (ROWS + UNITS) * TILE * turned.itemsize, gates.device)
    for step in reversed(range(steps)):
        _step_back[size // UNITS, rows // ROWS](
            outputs, turned, cell, gates, changes, carried, step, rows, LAST=step + 1 == steps,
            P=size, M=ROWS, J=UNITS, K=TILE, num_stages=stages, num_warps=4,
        )  # fmt: skip
    return changes


def _stages(way: str, tile: int, device: torch.device) -> int:
    """Return how many tiles of so many bytes are on their way at a time."""
    return max(1, min(STAGES[way], (_room(device) - SPARE) // tile))


@cache
def _room(device: torch.device) -> int:
    """Return the bytes of a processor's memory that a program may have."""
    if device.type != "cuda":
        return 0
    room: int = driver.active.utils.get_device_properties(device.index)["max_shared_mem"]
    return room
