"""Whether layers use `rebatch.kernels`."""

from collections.abc import Callable

from torch import nn


def fuse(model: nn.Module, can: Callable[[str], bool] = lambda family: True) -> None:
    """Let every layer that has kernels of its own train with them, where ``can`` of their family.

    Calling them takes the processor a while, so this pays where updates are CUDA graphs.
    """
    for module in model.modules():
        family = getattr(module, "family", None)
        if family is not None:
            setattr(module, "fused", can(family))  # noqa: B010
