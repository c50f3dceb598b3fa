"""CUDA's multi-process service: kernels of several runs on one GPU at the same time."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

CONTROL = "nvidia-cuda-mps-control"


def has_mps() -> bool:
    """Say whether the service can be started here."""
    return shutil.which(CONTROL) is not None


@contextmanager
def mps(folder: Path | None = None) -> Iterator[dict[str, str]]:
    """Start the service, yield what runs need in their environment to use it, and stop it.

    Its folder has the same name in every call, so that a service which a killed sweep left behind
    is used, and stopped at the end, instead of a second one being started beside it.  Of several
    sweeps at once the last one stops it.  Where the service does not start, runs go on without it.
    """
    place = folder or Path(tempfile.gettempdir()) / f"rebatch-mps-{os.getuid()}"
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    names = ("CUDA_MPS_PIPE_DIRECTORY", "CUDA_MPS_LOG_DIRECTORY")
    extra = dict.fromkeys(names, str(place))
    environment = {**os.environ, **extra}
    with (place / "users").open("w") as users:
        _lock(users, exclusive=False)
        runs = _control(environment, [], "get_server_list\n") or _control(environment, ["-d"])
        try:
            yield extra if runs else {}
        finally:
            if runs and _is_last(users):
                _control(environment, [], "quit\n")


def _is_last(users: IO[str]) -> bool:
    """Say whether no other sweep uses the service; one that comes now waits until it is gone."""
    try:
        _lock(users, exclusive=True)
    except BlockingIOError:
        return False
    return True


def _lock(file: IO[str], *, exclusive: bool) -> None:
    import fcntl  # not there on Windows, nor is the service

    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB if exclusive else fcntl.LOCK_SH)


def _control(environment: dict[str, str], arguments: list[str], said: str = "") -> bool:
    try:
        done = subprocess.run(
            [CONTROL, *arguments],
            input=said.encode(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=environment,
            check=False,
            timeout=60,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0
