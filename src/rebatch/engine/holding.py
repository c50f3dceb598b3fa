"""Holding a run's folder: one process at a time, let go of even by one that is killed."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from rebatch.errors import RunError

NAME = ".lock"
TRIES = 100  # at a folder that others may be removing: one that can never be made must not hang
_held: set[int] = set()


@contextmanager
def hold(folder: Path) -> Iterator[None]:
    """Hold a folder, made if need be; refuse if another process does."""
    if sys.platform == "win32":
        yield
        return
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    try:
        handle = _taken(folder / NAME)
    except OSError as error:
        raise RunError(f"{folder} could not be written: {error.strerror or error}") from error
    _held.add(handle)
    try:
        yield
    finally:
        if handle in _held:  # it is not in a forked child
            _let_go(handle, folder, missing)


def _let_go(handle: int, folder: Path, made: list[Path]) -> None:
    with suppress(OSError):
        os.unlink(folder / NAME)  # before letting go: who opened it will look again
    _held.discard(handle)
    os.close(handle)
    with suppress(OSError):
        for path in made:
            path.rmdir()  # only where nothing was written


def _taken(path: Path) -> int:
    """Lock the file at ``path``, not one that its holder has removed meanwhile."""
    for left in reversed(range(TRIES)):
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        except (FileNotFoundError, FileExistsError):  # the folder was removed in between
            if not left:
                raise
            continue
        try:
            _lock(handle, path)
            if _is_at(handle, path):
                os.ftruncate(handle, 0)
                os.pwrite(handle, str(os.getpid()).encode(), 0)
                return handle
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)
    raise RunError(f"{path.parent} is being removed by another process")


def _lock(handle: int, path: Path) -> None:
    import fcntl

    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        owner = os.pread(handle, 32, 0).decode(errors="replace")
        process = f"process {owner}" if owner.isdigit() else "another process"
        raise RunError(f"{path.parent} is in use by {process}") from None


def _is_at(handle: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), os.stat(path))
    except FileNotFoundError:
        return False


def _let_go_in_child() -> None:
    """A forked worker must not keep the folder of a killed run."""
    for handle in _held:
        os.close(handle)
    _held.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_let_go_in_child)
