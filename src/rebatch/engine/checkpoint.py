"""Checkpoints: everything a run needs to go on as if it had never stopped."""

import io
import pickle
from pathlib import Path
from typing import Any

import torch

from rebatch.errors import RunError
from rebatch.records import write_bytes


def save_checkpoint(path: Path, values: dict[str, Any]) -> None:
    """Write tensors and plain values so that they load with ``weights_only=True``."""
    buffer = io.BytesIO()
    torch.save(values, buffer)
    write_bytes(path, buffer.getvalue())


def load_checkpoint(path: Path, device: torch.device) -> dict[str, Any]:
    """Read a checkpoint without ever running code from it."""
    try:
        values = torch.load(path, map_location=device, weights_only=True)
    except FileNotFoundError:
        raise RunError(f"{path} is missing: there is nothing to resume") from None
    except (OSError, RuntimeError, pickle.UnpicklingError, EOFError, ValueError, KeyError) as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise RunError(f"{path} is not a whole checkpoint: {reason}") from None
    if not isinstance(values, dict):
        raise RunError(f"{path} must hold a checkpoint, got {type(values).__name__}")
    return values
