"""How a process finds the others of its run: what ``torchrun`` says in the environment."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import torch

from rebatch.engine.precision import choose_device
from rebatch.engine.ranks import ALONE, Ranks
from rebatch.errors import InputError, RunError

NEEDED = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
TIMEOUT = "REBATCH_TIMEOUT"
"""The variable with the seconds after which a rank that does not answer is given up: 60."""


def world_size() -> int:
    """Return how many processes the launcher started: 1 where there was none."""
    if not all(name in os.environ for name in NEEDED):
        return 1
    return _number("WORLD_SIZE")


def is_first() -> bool:
    """Tell whether this process speaks for the run."""
    return world_size() == 1 or _number("RANK") == 0


def local_device(name: str) -> torch.device:
    """Return the device of this process: each on a machine takes a GPU of its own."""
    if world_size() > 1 and name in ("auto", "cuda") and torch.cuda.is_available():
        name = f"cuda:{os.environ.get('LOCAL_RANK', '0')}"
    return choose_device(name)


@contextmanager
def launched(device: torch.device, seed: int) -> Iterator[Ranks]:
    """Join the processes that the launcher started, until the run ends.

    CPU tensors go over gloo, those of GPUs over NCCL.  A process group that is there already is
    used and left as it is.
    """
    if world_size() == 1:
        yield ALONE
        return
    from torch import distributed

    mine = not distributed.is_initialized()
    if mine:
        _join(device)
    try:
        yield Ranks(distributed.get_rank(), distributed.get_world_size(), seed)
    finally:
        if mine:
            distributed.destroy_process_group()


def _join(device: torch.device) -> None:
    from torch import distributed

    seconds = _number(TIMEOUT) if TIMEOUT in os.environ else 60
    backend = "gloo"
    if device.type == "cuda":
        torch.cuda.set_device(device)
        backend = "cpu:gloo,cuda:nccl"
    try:
        distributed.init_process_group(backend, timeout=timedelta(seconds=seconds))
    except RuntimeError as error:
        reason = str(error).strip().splitlines()[0]
        raise RunError(f"the other ranks were not found in {seconds} s: {reason}") from error


def _number(name: str) -> int:
    text = os.environ[name]
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise InputError(f"{name} must be a whole number, got {text!r}")
    return int(text)
