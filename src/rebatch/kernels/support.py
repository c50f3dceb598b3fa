"""Where our kernels can be used: each family is tried before a model trains with it."""

import logging
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec

import torch
from torch import Tensor, channels_last, nn

from rebatch.kernels.linear import aligned_linear
from rebatch.kernels.lstm import fused_lstm


@cache
def can_fuse(device: torch.device, family: str) -> bool:
    """Tell whether they can: on a GPU with bf16, where Triton compiles what we give it.

    ``family`` is text, norm, rectifier or pool: a model pays for a try of what it has alone.
    """
    if device.type != "cuda" or torch.cuda.get_device_capability(device) < (8, 0):
        return False
    if find_spec("triton") is None:
        return False
    with torch.cuda.device(device):  # Triton launches on the current one, wherever tensors are
        return runs(family, device)


def runs(family: str, device: torch.device) -> bool:
    """Tell whether the kernels of a family run both ways, and say so in the log if they do not."""
    gpus = [device] if device.type == "cuda" else []
    try:
        with torch.random.fork_rng(gpus):  # a try must not change what a seed gives
            TRIALS[family](device).sum().backward()  # type: ignore[no-untyped-call]
        for gpu in gpus:
            torch.cuda.synchronize(gpu)
    except Exception as error:  # whatever a missing compiler or an odd driver leads to
        reason = str(error).strip().partition("\n")[0] or type(error).__name__
        note = f"no kernels of our own for {family}, PyTorch's are taken: {reason}"
        logging.getLogger("rebatch").warning(note)
        return False
    return True


def _text(device: torch.device) -> Tensor:
    from rebatch.kernels.cross_entropy import mean_cross_entropy

    state = torch.zeros(1, 1, 8, device=device), torch.zeros(1, 1, 8, device=device)
    words = torch.zeros(2, 1, 8, device=device, requires_grad=True)
    output, _ = fused_lstm(nn.LSTM(8, 8, device=device), words, state)
    logits = aligned_linear(nn.Linear(8, 8, device=device), output)
    targets = torch.zeros(2, device=device, dtype=torch.long)
    return mean_cross_entropy(logits.flatten(0, 1), targets)


def _norm(device: torch.device) -> Tensor:
    from rebatch.kernels.normalize import Statistics, normalize

    seen = torch.zeros((), device=device, dtype=torch.long)
    moving = Statistics(_ones(device), _ones(device), seen, momentum=0.1, eps=1e-5)
    scale, shift = _ones(device).requires_grad_(), _ones(device).requires_grad_()
    return normalize(_images(device), scale, shift, moving, group=1, relu=True)[0]


def _rectifier(device: torch.device) -> Tensor:
    from rebatch.kernels.rectify import bias_relu

    return bias_relu(_images(device), _ones(device).requires_grad_())


def _pool(device: torch.device) -> Tensor:
    from rebatch.kernels.pool import max_pool

    return max_pool(_images(device))


def _images(device: torch.device) -> Tensor:
    images = torch.zeros(2, 8, 4, 4, device=device, dtype=torch.bfloat16)
    return images.to(memory_format=channels_last).requires_grad_()


def _ones(device: torch.device) -> Tensor:
    return torch.ones(8, device=device)


TRIALS: dict[str, Callable[[torch.device], Tensor]] = {
    "text": _text,
    "norm": _norm,
    "rectifier": _rectifier,
    "pool": _pool,
}
"""What of each family gives something that a gradient can be taken of."""
