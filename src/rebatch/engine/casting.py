"""All weights brought to half precision at once: autocast takes a kernel for each, and back too."""

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.func import functional_call


def cast_together(model: nn.Module) -> Callable[..., Any]:
    """Return what does in training as ``model`` under bf16 autocast, with fewer kernels.

    Recurrent models, which have kernels that read weights as they are, are returned themselves.
    """
    own = dict(model.named_parameters())  # a weight that is shared has its first name alone
    names = [name for name in _names(model) if name in own]
    if not names or any(isinstance(module, nn.RNNBase) for module in model.modules()):
        return model

    def forward(*inputs: Tensor) -> Any:
        if not model.training:
            return model(*inputs)
        known = dict(model.named_parameters())
        cast = _Cast.apply(*(known[name] for name in names))  # type: ignore[no-untyped-call]
        return functional_call(model, dict(zip(names, cast, strict=True)), inputs)

    return forward


def _names(model: nn.Module) -> Iterator[str]:
    """Name what autocast would cast, without biases of convolutions: our kernels add these."""
    for name, module in model.named_modules():
        prefix = f"{name}." if name else ""
        if isinstance(module, nn.Conv2d | nn.Linear):
            yield f"{prefix}weight"
        if isinstance(module, nn.Linear) and module.bias is not None:
            yield f"{prefix}bias"


class _Cast(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, *weights: Tensor) -> tuple[Tensor, ...]:
        ctx.set_materialize_grads(False)
        return tuple(_copied(weights, torch.bfloat16))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *given: Tensor | None) -> tuple[Tensor | None, ...]:
        wide = iter(_copied([each for each in given if each is not None], torch.float32))
        return tuple(None if each is None else next(wide) for each in given)


def _copied(tensors: Any, dtype: torch.dtype) -> list[Tensor]:
    """Return copies of another type that lie as the tensors do, which one kernel can then make."""
    copies = [torch.empty_like(tensor, dtype=dtype) for tensor in tensors]
    torch._foreach_copy_(copies, list(tensors))
    return copies
