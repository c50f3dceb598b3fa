"""Whether layers use `rebatch.kernels`."""

from torch import nn


def fuse(model: nn.Module) -> None:
    """Let every layer that has kernels of its own train with them.

    Calling them takes the processor a while, so this pays where updates are CUDA graphs.
    """
    for module in model.modules():
        if hasattr(module, "fused"):
            setattr(module, "fused", True)  # noqa: B010
