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
SUMMED, TALL = 32, 256
"""Columns that a program sums, few so that there are many programs, and rows at a time."""


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


@triton.jit(do_not_specialize=["height", "width", "rows"])
def _unpack(source, target, height, padded_height, width, padded_width, rows, B: tl.constexpr):
    """Fill a block of the target, whose parts have ``height`` of its ``rows`` each."""
    row = tl.program_id(0) * B + tl.arange(0, B)
    column = tl.program_id(1) * B + tl.arange(0, B)
    from_row = row // height * padded_height + row % height
    there = (row < rows)[:, None] & (column < padded_width)[None, :]
    place = from_row.to(tl.int64)[:, None] * padded_width + column[None, :]
    values = tl.load(source + place, there, 0.0).to(tl.float32)
    place = row.to(tl.int64)[:, None] * width + column[None, :]
    tl.store(target + place, values, there & (column < width)[None, :])


def unpacked(matrix: Tensor, rows: int, width: int, parts: int = 1) -> Tensor:
    """Return what is not padding, in single precision."""
    padded = matrix.contiguous()
    target = torch.empty((rows, width), device=matrix.device, dtype=torch.float32)
    grid = (triton.cdiv(rows, BLOCK), triton.cdiv(width, BLOCK))
    _unpack[grid](
        padded, target, rows // parts, len(padded) // parts, width, padded.shape[1], rows, B=BLOCK
    )  # fmt: skip
    return target


@triton.jit(do_not_specialize=["rows", "width"])
def _sum(
    source, target, rows, columns, width, padded_width,
    T: tl.constexpr, R: tl.constexpr, C: tl.constexpr,
):  # fmt: skip
    """Sum some columns; behind ``width`` of each part's ``padded_width`` there is padding."""
    column = tl.program_id(0) * C + tl.arange(0, C)
    row = tl.arange(0, R)
    total = tl.zeros((R, C), tl.float32)
    for at in range(0, T * R, R):
        known = (at + row < rows)[:, None] & (column < columns)[None, :]
        place = (at + row).to(tl.int64)[:, None] * columns + column[None, :]
        total += tl.load(source + place, known, 0.0).to(tl.float32)
    part, own = column // padded_width, column % padded_width
    inside = (column < columns) & (own < width)
    tl.store(target + part * width + own, tl.sum(total, axis=0), inside)


def column_sums(matrix: Tensor, width: int, parts: int = 1) -> Tensor:
    """Return the sums of the columns that are not padding, ``width`` of each part, in fp32."""
    matrix = matrix.contiguous()
    rows, columns = matrix.shape
    target = torch.empty(parts * width, device=matrix.device, dtype=torch.float32)
    _sum[triton.cdiv(columns, SUMMED),](
        matrix, target, rows, columns, width, columns // parts,
        T=triton.cdiv(rows, TALL), R=TALL, C=SUMMED, num_warps=8,
    )  # fmt: skip
    return target
