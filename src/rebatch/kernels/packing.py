"""Matrices packed into rows of whole tiles: tensor cores want rows of at least 16 bytes' multiples.

A row of 650 numbers in bf16 is 1,300 bytes: no multiple of 16, so cuBLAS takes slow kernels.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator"
# Triton reads the kernels' own annotations, and has none for its decorator.

import torch
import triton
import triton.language as tl
from torch import Tensor

BLOCK = 64


@triton.jit(do_not_specialize=["height", "width"])
def _pack(
    source, target, turned, height, width, padded_height, padded_width, padded_rows,
    TURNS: tl.constexpr, B: tl.constexpr,
):  # fmt: skip
    """Fill a block of the target, and of its transpose, from a part of ``height`` rows."""
    row = tl.program_id(0) * B + tl.arange(0, B)
    column = tl.program_id(1) * B + tl.arange(0, B)
    part, own = row // padded_height, row % padded_height
    known = ((own < height) & (row < padded_rows))[:, None] & (column < width)[None, :]
    place = (part * height + own).to(tl.int64)[:, None] * width + column[None, :]
    values = tl.load(source + place, known, 0.0).to(target.dtype.element_ty)
    inside = (row < padded_rows)[:, None] & (column < padded_width)[None, :]
    place = row.to(tl.int64)[:, None] * padded_width + column[None, :]
    tl.store(target + place, values, inside)
    if TURNS:
        place = column.to(tl.int64)[None, :] * padded_rows + row[:, None]
        tl.store(turned + place, values, inside)


def packed(
    matrix: Tensor, dtype: torch.dtype, *, width: int, parts: int = 1, height: int | None = None
) -> Tensor:
    """Return a matrix in another type, with zeros behind its rows and behind each of its parts."""
    return _packed(matrix, dtype, width, parts, height, turns=False)[0]


def packed_and_turned(
    matrix: Tensor, dtype: torch.dtype, *, width: int, parts: int, height: int
) -> tuple[Tensor, Tensor]:
    """Return the same, and its transpose."""
    return _packed(matrix, dtype, width, parts, height, turns=True)


def _packed(
    matrix: Tensor, dtype: torch.dtype, width: int, parts: int, height: int | None, *, turns: bool
) -> tuple[Tensor, Tensor]:
    matrix = matrix.contiguous()
    own = len(matrix) // parts
    height = height or own
    rows = parts * height
    target = torch.empty((rows, width), device=matrix.device, dtype=dtype)
    turned = target.new_empty((width, rows)) if turns else target
    grid = (triton.cdiv(rows, BLOCK), triton.cdiv(width, BLOCK))
    _pack[grid](
        matrix, target, turned, own, matrix.shape[1], height, width, rows, TURNS=turns, B=BLOCK
    )  # fmt: skip
    return target, turned


def unpacked(matrix: Tensor, rows: int, width: int, parts: int = 1) -> Tensor:
    """Return what is not padding, in single precision."""
    inside = matrix.view(parts, -1, matrix.shape[1])[:, : rows // parts, :width]
    return inside.to(torch.float32).reshape(rows, width)
