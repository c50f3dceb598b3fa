"""Batch norm in groups of samples, in Triton: two kernels each way, however many groups there are.

PyTorch normalises one group in a call, so a batch of eight groups takes eight times as many, and
sums before and behind it and the rectifier take more.  Here all groups are normalised at once, and
the rest is done on the way.  Images are read as rows of channels, as they lie with channels last.

A group is cut in strips.  One kernel finds the mean and the squared deviation of each strip; the
next one puts those of its group together (Chan, Golub and LeVeque, 1983) and normalises.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator"
# Triton reads the kernels' own annotations, and has none for its decorator.

from typing import Any, NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor, channels_last
from torch.autograd.function import once_differentiable

from rebatch.kernels.strips import WARPS, Cut, own_strip, rows_of


@triton.jit
def _together(means, squares, group, count, strip, width, channel, N: tl.constexpr):
    """Return mean and variance of a group from those of its strips."""
    block = tl.arange(0, N)
    place = (group * N + block[:, None]) * width + channel[None, :]
    each = rows_of(block, count, strip).to(tl.float32)[:, None]
    mean_of = tl.load(means + place)
    mean = tl.sum(each * mean_of, axis=0) / count
    apart = mean_of - mean[None, :]
    square = tl.sum(tl.load(squares + place) + each * apart * apart, axis=0)
    return mean, square / count


@triton.jit
def _scaled(x, mean, factor, offset):
    """Return what a norm gives: rounded the same way wherever it is asked for."""
    return tl.fma(x - mean[None, :], factor[None, :], offset[None, :])


@triton.jit(do_not_specialize=["rows", "own_rows"])
def _measure(
    images, other, whole, means, squares, rows, own_rows, width,
    SUMS: tl.constexpr, N: tl.constexpr, T: tl.constexpr, R: tl.constexpr, C: tl.constexpr,
):  # fmt: skip
    """Find mean and squared deviation of a strip, or write a sum down and find those of it."""
    block, group = tl.program_id(0), tl.program_id(1)
    channel = tl.program_id(2) * C + tl.arange(0, C)
    first, own, _ = own_strip(block, group, rows, own_rows, T * R)
    row = tl.arange(0, R)
    start = first * width + channel[None, :]
    # Sums around some number of the group itself: around zero they would cancel.
    some = group.to(tl.int64) * own_rows * width + channel
    around = tl.load(images + some).to(tl.float32)
    if SUMS:
        around += tl.load(other + some).to(tl.float32)
    total = tl.zeros((R, C), tl.float32)
    square = tl.zeros((R, C), tl.float32)
    for at in range(0, T * R, R):
        known = (at + row < own)[:, None]
        place = start + (at + row)[:, None] * width
        x = tl.load(images + place, known, 0.0).to(tl.float32)
        if SUMS:
            x += tl.load(other + place, known, 0.0).to(tl.float32)
            # What is measured is what the others will read.
            rounded = x.to(whole.dtype.element_ty)
            tl.store(whole + place, rounded, known)
            x = rounded.to(tl.float32)
        x = tl.where(known, x - around[None, :], 0.0)
        total += x
        square += x * x
    sums, count = tl.sum(total, axis=0), tl.maximum(own, 1)
    place = (group * N + block) * width + channel
    tl.store(means + place, around + sums / count)
    tl.store(squares + place, tl.maximum(tl.sum(square, axis=0) - sums * sums / count, 0.0))


@triton.jit
def _move(
    means, squares, running_mean, running_var, seen, momentum, rows, own_rows, strip, groups,
    width, channel, N: tl.constexpr,
):  # fmt: skip
    """Move the running statistics, group after group."""
    mean_now = tl.load(running_mean + channel)
    var_now = tl.load(running_var + channel)
    group = 0
    while group < groups:
        count = tl.minimum(own_rows, rows - group * own_rows)
        mean, var = _together(means, squares, group, count, strip, width, channel, N)
        var *= count / tl.maximum(count - 1, 1).to(tl.float32)
        mean_now += momentum * (mean - mean_now)
        var_now += momentum * (var - var_now)
        group += 1
    tl.store(running_mean + channel, mean_now)
    tl.store(running_var + channel, var_now)
    if tl.program_id(2) == 0:
        tl.store(seen, tl.load(seen) + groups)


@triton.jit(do_not_specialize=["rows", "own_rows", "groups"])
def _normalize(
    images, added, output, scale, shift, means, squares, mean_of, rstd_of,
    running_mean, running_var, seen, momentum, eps, rows, own_rows, groups, width,
    ADDS: tl.constexpr, RELU: tl.constexpr,
    N: tl.constexpr, T: tl.constexpr, R: tl.constexpr, C: tl.constexpr,
):  # fmt: skip
    """Normalise a strip; what comes after the last one moves the running statistics."""
    block, group = tl.program_id(0), tl.program_id(1)
    channel = tl.program_id(2) * C + tl.arange(0, C)
    if block == N:
        if group == 0:
            _move(
                means, squares, running_mean, running_var, seen, momentum, rows, own_rows, T * R,
                groups, width, channel, N,
            )  # fmt: skip
        return
    first, own, count = own_strip(block, group, rows, own_rows, T * R)
    mean, var = _together(means, squares, group, count, T * R, width, channel, N)
    rstd = 1 / tl.sqrt(var + eps)
    if block == 0:
        tl.store(mean_of + group * width + channel, mean)
        tl.store(rstd_of + group * width + channel, rstd)
    factor, offset = tl.load(scale + channel) * rstd, tl.load(shift + channel)
    row = tl.arange(0, R)
    start = first * width + channel[None, :]
    for at in range(0, T * R, R):
        known = (at + row < own)[:, None]
        place = start + (at + row)[:, None] * width
        y = tl.load(images + place, known, 0.0).to(tl.float32)
        y = _scaled(y, mean, factor, offset)
        if ADDS:
            y += tl.load(added + place, known, 0.0).to(tl.float32)
        if RELU:
            y = tl.maximum(y, 0.0, propagate_nan=tl.PropagateNan.ALL)
        tl.store(output + place, y.to(output.dtype.element_ty), known)


@triton.jit
def _passed(dy, x, mean, factor, offset, output, place, known, ADDS: tl.constexpr):
    """Return the gradient that a rectifier lets through: read where it cannot be computed."""
    if ADDS:
        return tl.where(tl.load(output + place, known, 0.0) > 0, dy, 0.0)
    return tl.where(_scaled(x, mean, factor, offset) > 0, dy, 0.0)


@triton.jit(do_not_specialize=["rows", "own_rows"])
def _measure_back(
    given, output, images, scale, shift, mean_of, rstd_of, plain, slanted, rows, own_rows, width,
    ADDS: tl.constexpr, RELU: tl.constexpr,
    N: tl.constexpr, T: tl.constexpr, R: tl.constexpr, C: tl.constexpr,
):  # fmt: skip
    """Sum the gradient of a strip, and its product with what was normalised."""
    block, group = tl.program_id(0), tl.program_id(1)
    channel = tl.program_id(2) * C + tl.arange(0, C)
    first, own, _ = own_strip(block, group, rows, own_rows, T * R)
    row = tl.arange(0, R)
    mean = tl.load(mean_of + group * width + channel)
    rstd = tl.load(rstd_of + group * width + channel)
    factor, offset = tl.load(scale + channel) * rstd, tl.load(shift + channel)
    start = first * width + channel[None, :]
    total = tl.zeros((R, C), tl.float32)
    product = tl.zeros((R, C), tl.float32)
    for at in range(0, T * R, R):
        known = (at + row < own)[:, None]
        place = start + (at + row)[:, None] * width
        dy = tl.load(given + place, known, 0.0).to(tl.float32)
        x = tl.load(images + place, known, 0.0).to(tl.float32)
        if RELU:
            dy = _passed(dy, x, mean, factor, offset, output, place, known, ADDS)
        total += dy
        product += dy * ((x - mean[None, :]) * rstd[None, :])
    place = (group * N + block) * width + channel
    tl.store(plain + place, tl.sum(total, axis=0))
    tl.store(slanted + place, tl.sum(product, axis=0))


@triton.jit
def _sum(numbers, target, groups, width, channel, N: tl.constexpr):
    """Sum over all strips of all groups."""
    strips = tl.arange(0, N)[:, None] * width + channel[None, :]
    found = tl.sum(tl.load(numbers + strips), axis=0)
    group = 1
    while group < groups:
        found += tl.sum(tl.load(numbers + group * N * width + strips), axis=0)
        group += 1
    tl.store(target + channel, found)


@triton.jit(do_not_specialize=["rows", "own_rows", "groups"])
def _back(
    given, beside, output, images, scale, shift, mean_of, rstd_of, plain, slanted,
    change, added_change, of_scale, of_shift, rows, own_rows, groups, width,
    SUMS: tl.constexpr, ADDS: tl.constexpr, RELU: tl.constexpr,
    N: tl.constexpr, T: tl.constexpr, R: tl.constexpr, C: tl.constexpr,
):  # fmt: skip
    """Give a strip its gradient; what comes after the last one, scale and shift theirs."""
    block, group = tl.program_id(0), tl.program_id(1)
    channel = tl.program_id(2) * C + tl.arange(0, C)
    if block == N:
        if group == 0:
            _sum(slanted, of_scale, groups, width, channel, N)
            _sum(plain, of_shift, groups, width, channel, N)
        return
    first, own, count = own_strip(block, group, rows, own_rows, T * R)
    row = tl.arange(0, R)
    mean = tl.load(mean_of + group * width + channel)
    rstd = tl.load(rstd_of + group * width + channel)
    factor, offset = tl.load(scale + channel) * rstd, tl.load(shift + channel)
    strips = (group * N + tl.arange(0, N)[:, None]) * width + channel[None, :]
    level = tl.sum(tl.load(plain + strips), axis=0)[None, :] / count
    slope = (rstd * tl.sum(tl.load(slanted + strips), axis=0))[None, :] / count
    start = first * width + channel[None, :]
    kind = change.dtype.element_ty
    for at in range(0, T * R, R):
        known = (at + row < own)[:, None]
        place = start + (at + row)[:, None] * width
        dy = tl.load(given + place, known, 0.0).to(tl.float32)
        x = tl.load(images + place, known, 0.0).to(tl.float32)
        if RELU:
            dy = _passed(dy, x, mean, factor, offset, output, place, known, ADDS)
        dx = factor[None, :] * (dy - level - (x - mean[None, :]) * slope)
        if SUMS:
            dx += tl.load(beside + place, known, 0.0).to(tl.float32)
        tl.store(change + place, dx.to(kind), known)
        if ADDS:
            tl.store(added_change + place, dy.to(kind), known)


class Statistics(NamedTuple):
    """The running statistics of a layer, and how they move."""

    mean: Tensor
    var: Tensor
    seen: Tensor
    momentum: float
    eps: float


class _Normalize(torch.autograd.Function):
    """Sum, normalise, add, rectify."""

    @staticmethod
    def forward(
        ctx: Any, images: Tensor, other: Tensor | None, added: Tensor | None,
        scale: Tensor, shift: Tensor, statistics: Statistics, group: int, relu: bool,
    ) -> tuple[Tensor, Tensor | None]:  # fmt: skip
        images, other, added = _lying(images), _lying(other), _lying(added)
        cut = Cut.of(images, group)
        output, sums = torch.empty_like(images), cut.sums(images)
        whole = images if other is None else torch.empty_like(images)
        kept = torch.empty((2, cut.groups, cut.width), device=images.device, dtype=torch.float32)
        limits = (cut.rows, cut.own_rows)
        _measure[cut.grid()](
            images, images if other is None else other, whole, *sums, *limits, cut.width,
            SUMS=other is not None, **cut.shape, num_warps=WARPS,
        )  # fmt: skip
        _normalize[cut.grid(extra=1)](
            whole, whole if added is None else added, output, scale, shift, *sums, *kept,
            *statistics, *limits, cut.groups, cut.width,
            ADDS=added is not None, RELU=relu, **cut.shape, num_warps=WARPS,
        )  # fmt: skip
        # Without what was added, only the output tells what the rectifier let through.
        reads = added is not None and relu
        ctx.save_for_backward(whole, output if reads else whole, scale, shift, kept)
        ctx.cut, ctx.sums, ctx.adds, ctx.relu = cut, other is not None, added is not None, relu
        ctx.set_materialize_grads(False)
        return output, None if other is None else whole

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, given: Tensor | None, beside: Tensor | None) -> Any:
        whole, output, scale, shift, kept = ctx.saved_tensors
        cut: Cut = ctx.cut
        given = torch.zeros_like(whole) if given is None else _lying(given)
        beside = _lying(beside)
        change, sums = torch.empty_like(whole), cut.sums(whole)
        way = {"ADDS": ctx.adds and ctx.relu, "RELU": ctx.relu}
        added_change = torch.empty_like(whole) if way["ADDS"] else change
        changes = torch.empty((2, cut.width), device=whole.device, dtype=torch.float32)
        limits = (cut.rows, cut.own_rows)
        _measure_back[cut.grid()](
            given, output, whole, scale, shift, *kept, *sums, *limits, cut.width,
            **way, **cut.shape, num_warps=WARPS,
        )  # fmt: skip
        _back[cut.grid(extra=1)](
            given, given if beside is None else beside, output, whole, scale, shift, *kept, *sums,
            change, added_change, *changes, *limits, cut.groups, cut.width,
            SUMS=beside is not None, **way, **cut.shape, num_warps=WARPS,
        )  # fmt: skip
        to_added = (added_change if ctx.relu else given) if ctx.adds else None
        return change, change if ctx.sums else None, to_added, *changes, None, None, None


def _lying(images: Any) -> Any:
    """Return images with their channels last, or nothing for nothing."""
    return None if images is None else images.contiguous(memory_format=channels_last)


def normalize(
    images: Tensor,
    scale: Tensor,
    shift: Tensor,
    statistics: Statistics,
    *,
    group: int,
    plus: Tensor | None = None,
    add: Tensor | None = None,
    relu: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """Normalise every ``group`` of images by itself, add ``add``, and rectify if asked to.

    With ``plus`` it is ``images + plus`` that is normalised, and given too.  The running statistics
    are moved in place, group after group.
    """
    found: tuple[Tensor, Tensor | None] = _Normalize.apply(
        images, plus, add, scale, shift, statistics, group, relu
    )
    return found
