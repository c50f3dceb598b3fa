"""Checkpoints: everything a run needs to go on as if it had never stopped.

Each file carries its checksum, and the one before is kept until the next: where the newest cannot
be used, it is put aside and the run goes on from the one before.
"""

import io
import json
import logging
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch

from rebatch._course import Course
from rebatch.engine.job import Job
from rebatch.engine.seal import check_seal, seal
from rebatch.engine.state import Progress, random_states, restore_random_states
from rebatch.errors import RunError, shown
from rebatch.records import write_bytes

FORMAT = 1
"""Raised whenever an older reader would misunderstand a checkpoint."""


def save_checkpoint(job: Job, progress: Progress) -> None:
    """Write tensors and plain values so that they load with ``weights_only=True``."""
    learner = job.learner
    values = {
        "format": FORMAT,
        "run": _identity(job),
        "plan": job.plan.fingerprint,
        "course": None if job.course is None else job.course.to_dict(),
        "model": learner.model.state_dict(),
        "optimizer": learner.optimizer.state_dict(),
        "random": random_states(learner.device),
        "micro_batch_size": learner.micro_batch_size,
        "progress": progress.values(),
    }
    buffer = io.BytesIO()
    torch.save(values, buffer)
    write_bytes(
        job.folder.checkpoint,
        seal(buffer.getbuffer()),
        before=job.folder.previous_checkpoint,
    )


def restore_checkpoint(job: Job) -> Progress:
    """Put model, optimiser and random numbers where they were, and return the progress.

    A newest checkpoint that cannot be used is put aside, and the one before is used.
    """
    newest, previous = job.folder.checkpoint, job.folder.previous_checkpoint
    if previous.exists() and not newest.exists():  # killed while the new one took its place
        return _restore(job, previous)
    try:
        return _restore(job, newest)
    except RunError as error:
        if not previous.exists():
            raise
        fault = error
    try:
        progress = _restore(job, previous)
    except RunError as error:
        raise RunError(f"{fault}; and {error}") from None
    with suppress(FileNotFoundError):  # another rank was faster
        os.replace(newest, job.folder.refused_checkpoint)
    _say(job, f"{fault}; going on from {previous.name}, after update {progress.update}")
    return progress


def _restore(job: Job, path: Path) -> Progress:
    learner = job.learner
    values = _read(path, learner.device)
    _check_origin(job, values, path)
    try:
        learner.model.load_state_dict(values["model"])
        learner.optimizer.load_state_dict(values["optimizer"])
        learner.micro_batch_size = values["micro_batch_size"]
        restore_random_states(values["random"], learner.device)
        progress = Progress.restored(values["progress"])
        if job.policy is not None:
            job.follow(Course.from_dict(values["course"]))
        return progress
    except (KeyError, TypeError, ValueError, RuntimeError, AttributeError) as error:
        raise RunError(f"{path} does not fit this run: {_reason(error)}") from None


def _read(path: Path, device: torch.device) -> dict[str, Any]:
    """Read a checkpoint without ever running code from it."""
    try:
        data = path.read_bytes()
        check_seal(data)
        values = torch.load(io.BytesIO(data), map_location=device, weights_only=True)
    except FileNotFoundError:
        raise RunError(f"{path} is missing: there is nothing to resume") from None
    except Exception as error:  # whatever foreign or torn bytes make the reader stumble over
        raise RunError(f"{path} is not a whole checkpoint: {_reason(error)}") from None
    if not isinstance(values, dict):
        raise RunError(f"{path} must hold a checkpoint, got {type(values).__name__}")
    return values


def _check_origin(job: Job, values: dict[str, Any], path: Path) -> None:
    """Refuse what another version or another run wrote."""
    if values.get("format") != FORMAT:
        found = shown(values.get("format"))
        raise RunError(f"{path} is of another version: its format must be {FORMAT}, got {found}")
    if job.policy is None and values.get("plan") != job.plan.fingerprint:
        raise RunError(f"{path} is of another plan: start anew in another folder")
    if values.get("run") != _identity(job):
        raise RunError(f"{path} is of another run: start anew in another folder")


def _identity(job: Job) -> str:
    return json.dumps(job.identity, sort_keys=True)


def _say(job: Job, note: str) -> None:
    """Tell whoever watches, on standard error unless logging is set up, and note it in the log."""
    logging.getLogger("rebatch").warning(note)
    job.learner.report(note)


def _reason(error: Exception) -> str:
    text = str(error).strip()
    return text.splitlines()[0] if text else type(error).__name__
