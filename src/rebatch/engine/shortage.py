"""Memory that runs out, on a GPU or on a CPU."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from rebatch.errors import RunError


def is_shortage(error: Exception) -> bool:
    """Tell whether memory ran out: PyTorch has a type of error for that on GPUs alone."""
    if isinstance(error, torch.cuda.OutOfMemoryError | MemoryError):
        return True
    return isinstance(error, RuntimeError) and "DefaultCPUAllocator" in str(error)


@contextmanager
def shortage_told() -> Iterator[None]:
    """Say in one line where memory runs out and no smaller micro-batch can help."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        if not is_shortage(error):
            raise
        raise RunError(f"memory does not suffice: {error}") from error
