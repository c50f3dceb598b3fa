"""What a measurement was made on and with."""

import platform
import re
from pathlib import Path
from typing import Any

import torch

import rebatch
from rebatch._cores import cores

CPU_INFO = Path("/proc/cpuinfo")
"""Where Linux names the processor."""


def machine(device: torch.device) -> dict[str, Any]:
    """Return the device by its maker's name, and the versions; nothing that tells when or where."""
    found: dict[str, Any] = {
        "device": device_name(device),
        "cores": cores(),
        "threads": torch.get_num_threads(),
        "rebatch": rebatch.__version__,
        "torch": torch.__version__,
        "python": platform.python_version(),
    }
    if device.type == "cuda":
        found |= {"cuda": torch.version.cuda, "cudnn": torch.backends.cudnn.version()}  # type: ignore[no-untyped-call]
    return found


def device_name(device: torch.device) -> str:
    """Return what the device is called."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    text = CPU_INFO.read_text() if CPU_INFO.exists() else ""
    named = re.search(r"^model name\s*: (.+)$", text, re.MULTILINE)
    return named[1].strip() if named else platform.processor() or platform.machine()


def file_name(what: str, found: dict[str, Any]) -> str:
    """Return a name for the records of a measurement, the same each time on the same device.

    >>> file_name("gpu", {"device": "NVIDIA H200"})
    'gpu-nvidia-h200'
    """
    return f"{what}-{re.sub(r'[^a-z0-9]+', '-', found['device'].lower()).strip('-')}"
