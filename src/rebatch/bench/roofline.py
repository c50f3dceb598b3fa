"""The roofline: how fast an update could be if the device did nothing but its arithmetic.

With F floating-point operations and M bytes an update takes at least max(F / matmul rate,
M / copy bandwidth) seconds.  F is counted.  M is what cannot be avoided without computing
anything twice: what backward needs of forward, written and read once, and the parameters, read
twice, with gradients and momentum that are written and read.  Both rates are measured.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.autograd.graph import saved_tensors_hooks
from torch.utils.flop_counter import FlopCounterMode

from rebatch.bench.clock import now


class Work(NamedTuple):
    """What an update has to do, at least."""

    flops: float
    kept: float
    """Numbers that backward needs of forward, parameters not counted."""
    parameters: float
    """Numbers that are learnt."""
    momentum: bool = False

    def bytes(self, width: int) -> float:
        """Return the traffic of an update whose activations have ``width`` bytes."""
        passes = 6 + 2 * self.momentum  # weight read 3 times and written, gradient both
        return 2 * width * self.kept + 4 * passes * self.parameters


class Rates(NamedTuple):
    """What a device was seen to do."""

    flops: float
    """Floating-point operations a second of a large matrix product."""
    bandwidth: float
    """Bytes a second, read and written, of a large copy."""

    def limit(self, work: Work, width: int) -> float:
        """Return the updates a second that the device cannot go beyond.

        >>> Rates(flops=1e12, bandwidth=1e11).limit(Work(2e9, kept=1e6, parameters=0), width=4)
        500.0
        """
        return 1 / max(work.flops / self.flops, work.bytes(width) / self.bandwidth)


def count_work(
    model: nn.Module, loss: Callable[[nn.Module], Tensor], *, momentum: bool = False
) -> Work:
    """Count one update of a model on the ``meta`` device, where nothing is computed."""
    own = {parameter.untyped_storage()._cdata for parameter in model.parameters()}
    kept: dict[int, int] = {}

    def keep(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage._cdata not in own:
            kept[storage._cdata] = storage.nbytes() // tensor.element_size()
            alive.append(storage)  # a freed one could give its place to another
        return tensor

    alive: list[torch.UntypedStorage] = []
    with FlopCounterMode(display=False) as counter:
        with saved_tensors_hooks(keep, lambda tensor: tensor):
            found = loss(model)
        found.backward()  # type: ignore[no-untyped-call]
    learnt = sum(p.numel() for p in model.parameters() if p.requires_grad)
    return Work(counter.get_total_flops(), sum(kept.values()), learnt, momentum)


def measure_rates(device: torch.device, precision: str) -> Rates:
    """Measure a large matrix product in a precision, and a large copy."""
    on_gpu = device.type == "cuda"
    kind = torch.bfloat16 if precision == "bf16" else torch.float32
    size, numbers = (8192, 2**28) if on_gpu else (1024, 2**24)
    if on_gpu:
        torch.backends.cuda.matmul.allow_tf32 = precision != "fp32"
    left, right = (torch.randn(size, size, device=device, dtype=kind) for _ in range(2))
    product = _best(lambda: left @ right, device)
    source = torch.ones(numbers, device=device)
    target = torch.empty_like(source)
    copy = _best(lambda: target.copy_(source), device)
    return Rates(2 * size**3 / product, 2 * 4 * numbers / copy)


def _best(work: Callable[[], object], device: torch.device, tries: int = 10) -> float:
    work()
    times = []
    for _ in range(tries):
        began = now(device)
        work()
        times.append(now(device) - began)
    return min(times)
