"""A run's folder in another store: fetched before a run, pushed while it goes on and at its end.

A store is whatever fsspec reaches: ``s3://…``, ``gs://…``, ``file://…``.
"""

import os
import time
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from pathlib import Path, PurePosixPath
from typing import Any

from rebatch.errors import InputError

CHECKPOINT, RESULT = "checkpoint", "result.json"
RECORDS = ("run.json", "metrics.jsonl", "error.txt", RESULT)


def is_remote(out: str) -> bool:
    """Say whether a place is an address of a store, not a folder.

    >>> is_remote("s3://bucket/sweeps"), is_remote("sweeps")
    (True, False)
    """
    return "://" in out


class Stage:
    """A local folder and its copy in a store.

    The copy can be resumed from at any moment.  A checkpoint needs the log and the snapshots that
    were written before it, so it is read before them and written after them.
    """

    def __init__(self, address: str, folder: Path) -> None:
        self.folder = folder
        self.store, self.root = open_store(address)
        self._pushed: dict[str, tuple[int, int]] = {}

    def fetch(self) -> None:
        """Bring everything that the store has of the run into the local folder."""
        self.folder.mkdir(parents=True, exist_ok=True)
        for name in self._stored():
            target = self.folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            self.store.get_file(f"{self.root}/{name}", str(target))
            self._pushed[name] = _version(target)

    def push(self) -> None:
        """Bring what is new to the store; once there is a result, take away what is gone here."""
        held = self._hold()
        try:
            others = [name for name in _files(self.folder) if not name.startswith(CHECKPOINT)]
            for name in sorted((*others, *held), key=_order):
                self._push(name, held.get(name, self.folder / name))
        finally:
            for path in held.values():
                path.unlink(missing_ok=True)
        if RESULT in self._pushed:
            for name in set(self._stored()) - set(_files(self.folder)):
                self.store.rm_file(f"{self.root}/{name}")

    def _push(self, name: str, source: Path) -> None:
        version = _version(source)
        if self._pushed.get(name) != version:
            self._write(name, source)
            self._pushed[name] = version

    def _hold(self) -> dict[str, Path]:
        """Keep checkpoints as they are now; the run replaces them as a whole: a link is enough."""
        held = {}
        for name in _files(self.folder):
            if name.startswith(CHECKPOINT):
                beside = self.folder / f".held-{name}"
                beside.unlink(missing_ok=True)
                with suppress(FileNotFoundError):  # it is being replaced: the next push takes it
                    os.link(self.folder / name, beside)
                    held[name] = beside
        return held

    def _write(self, name: str, source: Path) -> None:
        target = PurePosixPath(self.root, name)
        beside = f"{target.parent}/.{target.name}.part"
        self.store.makedirs(str(target.parent), exist_ok=True)
        self.store.put_file(str(source), beside)
        self.store.mv(beside, str(target))

    def _stored(self) -> Iterator[str]:
        self.store.invalidate_cache()
        if not self.store.exists(self.root):
            return
        for path in self.store.find(self.root):
            name = str(PurePosixPath(path).relative_to(PurePosixPath(self.root)))
            if _is_kept(name):
                yield name


def open_store(address: str) -> tuple[Any, str]:
    """Return the store of an address and the path in it."""
    try:
        fsspec = import_module("fsspec.core")
    except ImportError:
        raise InputError(
            "fsspec must be installed for another store, got none: pip install 'rebatch[ray]'"
        ) from None
    try:
        store, root = fsspec.url_to_fs(address)
    except (ValueError, ImportError) as error:
        raise InputError(f"out must be an address of fsspec, got {address}: {error}") from None
    return store, root.rstrip("/")


class Mirror:
    """The small records of runs in a store, copied here to be looked at now and then."""

    def __init__(self, address: str, folder: Path, *, every: float = 10.0) -> None:
        self.address, self.folder, self.every = address, folder, every
        self._seen: dict[PurePosixPath, float] = {}

    def path(self, run: PurePosixPath) -> Path:
        """Return the folder with the records of a run, looked at again if it is time."""
        copy = self.folder / run
        now = time.monotonic()
        if now - self._seen.get(run, -self.every) >= self.every:
            self._seen[run] = now
            copy.mkdir(parents=True, exist_ok=True)
            store, root = open_store(f"{self.address.rstrip('/')}/{run}")
            store.invalidate_cache()
            for name in RECORDS:
                with suppress(FileNotFoundError):
                    (copy / name).write_bytes(store.cat_file(f"{root}/{name}"))
        return copy


def _files(folder: Path) -> list[str]:
    found = (path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    return [name for name in found if _is_kept(name)]


def _is_kept(name: str) -> bool:
    """Hidden files are half-written ones and locks, which belong to a machine."""
    return not PurePosixPath(name).name.startswith(".") and not name.endswith(".lock")


def _version(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_mtime_ns, found.st_size


def _order(name: str) -> tuple[bool, bool, str]:
    return name == RESULT, name.startswith(CHECKPOINT), name
