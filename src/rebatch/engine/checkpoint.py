"""Checkpoints: everything a run needs to go on as if it had never stopped."""

import io
from pathlib import Path
from typing import Any

import torch

from rebatch.engine.job import Job
from rebatch.engine.state import Progress, random_states, restore_random_states
from rebatch.errors import RunError
from rebatch.records import write_bytes


def save_checkpoint(job: Job, progress: Progress) -> None:
    """Write tensors and plain values so that they load with ``weights_only=True``."""
    learner = job.learner
    values = {
        "plan": job.plan.fingerprint,
        "model": learner.model.state_dict(),
        "optimizer": learner.optimizer.state_dict(),
        "random": random_states(learner.device),
        "micro_batch_size": learner.micro_batch_size,
        "progress": progress.values(),
    }
    buffer = io.BytesIO()
    torch.save(values, buffer)
    write_bytes(job.folder.checkpoint, buffer.getbuffer())


def restore_checkpoint(job: Job) -> Progress:
    """Put model, optimiser and random numbers where they were, and return the progress."""
    path, learner = job.folder.checkpoint, job.learner
    values = _read(path, learner.device)
    if values.get("plan") != job.plan.fingerprint:
        raise RunError(f"{path} is of another plan: start anew in another folder")
    try:
        learner.model.load_state_dict(values["model"])
        learner.optimizer.load_state_dict(values["optimizer"])
        learner.micro_batch_size = values["micro_batch_size"]
        restore_random_states(values["random"], learner.device)
        return Progress.restored(values["progress"])
    except (KeyError, TypeError, ValueError, RuntimeError, AttributeError) as error:
        raise RunError(f"{path} does not fit this run: {_reason(error)}") from None


def _read(path: Path, device: torch.device) -> dict[str, Any]:
    """Read a checkpoint without ever running code from it."""
    try:
        values = torch.load(path, map_location=device, weights_only=True)
    except FileNotFoundError:
        raise RunError(f"{path} is missing: there is nothing to resume") from None
    except Exception as error:  # whatever foreign or torn bytes make the reader stumble over
        raise RunError(f"{path} is not a whole checkpoint: {_reason(error)}") from None
    if not isinstance(values, dict):
        raise RunError(f"{path} must hold a checkpoint, got {type(values).__name__}")
    return values


def _reason(error: Exception) -> str:
    text = str(error).strip()
    return text.splitlines()[0] if text else type(error).__name__
