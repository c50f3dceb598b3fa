"""Where the weights start: the initialisations of the paper's study."""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.conv import _ConvNd

from rebatch._starts import parse_start
from rebatch.errors import InputError

Fill = Callable[[Tensor, torch.Generator | None], object]
Layer = _ConvNd | nn.Linear


def initialize(
    model: nn.Module,
    how: str,
    *,
    sample: Tensor | tuple[Any, ...] | None = None,
    generator: torch.Generator | None = None,
) -> None:
    """Start convolutions and dense layers anew; their biases at 0, batch norm at 1 and 0.

    ============== ==============================================================================
    default        left as built
    xavier         uniform with variance 2 / (fan-in + fan-out) (Glorot and Bengio, 2010)
    msra           N(0, 2 / fan-in) (He et al., 2015)
    orthogonal     orthogonal rows or columns of length √2, the gain of ReLU (Saxe et al., 2013)
    lsuv           orthonormal, then each output scaled to variance 1 on ``sample``, a batch (or
                   the tuple of the model's arguments) (Mishkin and Matas, 2015)
    gaussian-SIGMA N(0, SIGMA²), as gaussian-0.1
    ============== ==============================================================================

    >>> model = nn.Linear(1000, 1000)
    >>> initialize(model, "gaussian-0.1", generator=torch.Generator().manual_seed(0))
    >>> round(model.weight.std().item(), 3)
    0.1
    """
    if how == "default":
        return
    if how == "lsuv" and sample is None:
        raise InputError("sample must be a batch for lsuv, got None")
    _start(model, _fill(how), generator)
    if how == "lsuv":
        _scale_outputs(model, sample if isinstance(sample, tuple) else (sample,))


def _fill(how: str) -> Fill:
    fills: dict[str, Fill] = {
        "xavier": lambda w, g: nn.init.xavier_uniform_(w, generator=g),
        "msra": lambda w, g: nn.init.kaiming_normal_(w, nonlinearity="relu", generator=g),
        "orthogonal": lambda w, g: nn.init.orthogonal_(w, gain=math.sqrt(2), generator=g),
        "lsuv": lambda w, g: nn.init.orthogonal_(w, generator=g),
    }
    name, sigma = parse_start(how)
    if sigma is None:
        return fills[name]
    return lambda w, g: nn.init.normal_(w, std=sigma, generator=g)


def _start(model: nn.Module, fill: Fill, generator: torch.Generator | None) -> None:
    for module in model.modules():
        if isinstance(module, _BatchNorm):
            module.reset_parameters()
        if isinstance(module, Layer):
            fill(module.weight, generator)
            if module.bias is not None:
                nn.init.zeros_(module.bias)


@torch.no_grad()
def _scale_outputs(model: nn.Module, arguments: tuple[Any, ...]) -> None:
    # A hook sees the layers in forward order, and each after the ones before it have been scaled.
    with _evaluating(model), _hooked(model, _scale):
        model(*arguments)


def _scale(layer: Layer, arguments: tuple[Any, ...], output: Tensor) -> Tensor:
    for _ in range(10):
        variance = output.float().var().item()
        if abs(variance - 1) <= 0.1:
            break
        if not 0 < variance < math.inf:
            rule = "make the output of every layer vary"
            raise InputError(f"sample must {rule}, got variance {variance:g} in {layer}")
        layer.weight.div_(math.sqrt(variance))
        output = layer.forward(*arguments)
    return output


@contextmanager
def _evaluating(model: nn.Module) -> Iterator[None]:
    training = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(training)


@contextmanager
def _hooked(model: nn.Module, hook: Callable[..., Tensor]) -> Iterator[None]:
    layers = [module for module in model.modules() if isinstance(module, Layer)]
    handles = [layer.register_forward_hook(hook) for layer in layers]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()
