"""Where and how exactly a run computes."""

from contextlib import AbstractContextManager, nullcontext

import torch
from torch import Tensor

from rebatch.errors import InputError, one_of

PRECISIONS = ("fp32", "tf32", "bf16", "fp64")
ENGINES = ("eager", "graphs", "compiled")
"""How updates are made: each operation by itself; whole updates as CUDA graphs; or those of a
model that `torch.compile` has worked over, which takes its time for each batch size."""


def choose_device(name: str) -> torch.device:
    """Return the device of that name; ``auto`` takes a GPU where there is one."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        float(torch.zeros(1, device=device))  # the device "meta" holds no numbers
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0].partition(". ")[0]
        raise InputError(
            f"device must be auto, cpu or a device here, got {name!r}: {reason}"
        ) from None
    return device


def choose_engine(name: str, device: torch.device, ranks: int) -> str:
    """Return the engine of that name; ``auto`` takes graphs where they can be captured."""
    one_of("engine", name, ("auto", *ENGINES))
    can_capture = device.type == "cuda" and ranks == 1
    if name == "auto":
        return "graphs" if can_capture else "eager"
    if name != "eager" and not can_capture:
        where = f"{ranks} processes" if ranks > 1 else f"the device {device.type}"
        raise InputError(f"engine must be eager except on one GPU, got {name} on {where}")
    return name


def set_precision(precision: str, device: torch.device) -> None:
    """Let matrix products round to TF32, or keep them in full fp32."""
    one_of("precision", precision, PRECISIONS)
    if device.type == "cuda":
        fast = precision != "fp32"
        torch.backends.cuda.matmul.allow_tf32 = fast
        torch.backends.cudnn.allow_tf32 = fast
        # The plan comes back to the same few shapes: to try out convolutions once pays.
        torch.backends.cudnn.benchmark = True


def wide(values: Tensor) -> Tensor:
    """Return values in the precision of losses: fp32, or fp64 where the model has it."""
    return values if values.dtype == torch.float64 else values.float()


def autocast(precision: str, device: torch.device) -> AbstractContextManager[object]:
    """Return the context for forward passes: bf16 autocast, or nothing."""
    if precision != "bf16":
        return nullcontext()
    return torch.autocast(device.type, dtype=torch.bfloat16, cache_enabled=False)
