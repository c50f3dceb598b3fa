"""A linear layer whose inputs are padded to whole tiles; its outputs are as many as they are."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn.functional import pad

ALIGNED = 64
"""Features are padded to multiples of this, unless they are already wider than the layer."""


class _Linear(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, features: Tensor, weight: Tensor, bias: Tensor) -> Any:
        from rebatch.kernels.packing import packed

        ctx.own = weight.shape
        weight = packed(weight, features.dtype, width=features.shape[1])
        ctx.save_for_backward(features, weight)
        return torch.addmm(bias.to(features.dtype), features, weight.t())

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, given: Tensor) -> Any:
        from rebatch.kernels.packing import column_sums, unpacked

        features, weight = ctx.saved_tensors
        change = unpacked(given.t() @ features, *ctx.own)
        return given @ weight, change, column_sums(given, given.shape[1])


def aligned_linear(
    linear: nn.Linear, features: Tensor, dtype: torch.dtype = torch.bfloat16
) -> Tensor:
    """Return what ``linear(features)`` does, with matrix products in ``dtype``.

    ``features`` may be wider than the layer, with zeros where they are.
    """
    width = features.shape[-1]
    flat = features.to(dtype).reshape(-1, width)
    if width == linear.in_features:
        flat = pad(flat, (0, -width % ALIGNED))
    output: Tensor = _Linear.apply(flat, linear.weight, linear.bias)  # type: ignore[no-untyped-call]
    return output.view(*features.shape[:-1], -1)
