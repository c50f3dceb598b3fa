"""Where our kernels can be used."""

from functools import cache
from importlib.util import find_spec

import torch


@cache
def can_fuse(device: torch.device) -> bool:
    """Tell whether they can: on a GPU with bf16, where Triton compiles what we give it."""
    if device.type != "cuda" or torch.cuda.get_device_capability(device) < (8, 0):
        return False
    if find_spec("triton") is None:
        return False
    try:
        from rebatch.kernels.cross_entropy import mean_cross_entropy

        with torch.cuda.device(device):  # Triton launches on the current one, wherever tensors are
            logits = torch.zeros(2, 8, device=device, dtype=torch.bfloat16, requires_grad=True)
            loss = mean_cross_entropy(logits, torch.zeros(2, device=device, dtype=torch.long))
            loss.backward()  # type: ignore[no-untyped-call]
    except Exception:  # whatever a missing compiler or an odd driver leads to
        return False
    return True
