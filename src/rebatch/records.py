"""A run's folder: what a run writes down, and the only thing that reports read.

``run.json`` says what is run, ``metrics.jsonl`` how it goes, ``result.json`` how it ended.  Whole
files appear atomically; the line log grows by whole lines and can be cut back to a known length.
"""

import contextlib
import hashlib
import json
import math
import os
import re
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from rebatch.errors import InputError, RunError

FINISHED, RUNNING, INTERRUPTED, FAILED = "finished", "running", "interrupted", "failed"


def write_bytes(path: Path, data: bytes | memoryview, *, before: Path | None = None) -> None:
    """Write a whole file so that it is there complete, or not at all.

    The file that was there until now is kept as ``before``, where that is given.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(
            dir=path.parent, prefix=f".{path.name}.", suffix=".draft"
        )
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.chmod(temporary, 0o644)
            if before is not None and path.exists():
                os.replace(path, before)
            os.replace(temporary, path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise
    except OSError as error:
        raise RunError(f"{path} could not be written: {error.strerror or error}") from error


def write_json(path: Path, value: Mapping[str, Any]) -> None:
    """Write a JSON file atomically; figures that are not finite become null."""
    write_bytes(path, (json.dumps(_finite(value), indent=1) + "\n").encode())


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON object, or say what is wrong with the file."""
    try:
        value = json.loads(path.read_text())
    except FileNotFoundError:
        raise RunError(f"{path} is missing") from None
    except (OSError, ValueError, RecursionError) as error:
        raise RunError(f"{path} is not readable as JSON: {error}") from None
    if not isinstance(value, dict):
        raise RunError(f"{path} must hold a JSON object, got {type(value).__name__}")
    return value


class LineLog:
    """A file of JSON lines that only ever grows by whole lines."""

    def __init__(self, path: Path, *, keep: int = 0) -> None:
        """Open the log, cut back to its first ``keep`` bytes."""
        self.path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            length = path.stat().st_size if path.exists() else 0
            if length < keep:
                raise RunError(f"{path} must have at least {keep} bytes to go on, got {length}")
            self._file = open(path, "ab", buffering=0)  # noqa: SIM115
            if length > keep:
                self._file.truncate(keep)
            self._whole = keep
        except OSError as error:
            raise RunError(f"{path} could not be opened: {error.strerror}") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        with contextlib.suppress(OSError):  # what could not be written has been said already
            self._file.close()

    def write(self, record: Mapping[str, Any]) -> None:
        """Append one record."""
        try:
            line = (json.dumps(_finite(record)) + "\n").encode()
            rest = memoryview(line)
            while rest:  # a disk that fills up takes a part of a line
                rest = rest[self._file.write(rest) :]
            self._whole += len(line)
        except OSError as error:
            with contextlib.suppress(OSError):  # what is there of the line goes
                os.truncate(self.path, self._whole)
            raise RunError(f"{self.path} could not be written: {error.strerror}") from error

    @property
    def length(self) -> int:
        """Bytes written so far; they are on the disk, not on their way, when this is told."""
        try:
            os.fsync(self._file.fileno())
            return self.path.stat().st_size
        except OSError as error:
            raise RunError(f"{self.path} could not be written: {error.strerror}") from error


def read_lines(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the records of a line log; a torn last line is passed over."""
    if not path.exists():
        return
    for line in path.read_text(errors="replace").splitlines():
        try:
            record = json.loads(line)
        except ValueError:
            continue
        if isinstance(record, dict):
            yield record


@dataclass(frozen=True, slots=True)
class RunFolder:
    """The files of one run."""

    path: Path

    @property
    def run(self) -> Path:
        """What is run: recipe, schedule, seed, versions, status."""
        return self.path / "run.json"

    @property
    def metrics(self) -> Path:
        """One line an epoch and one every so many updates."""
        return self.path / "metrics.jsonl"

    @property
    def plan(self) -> Path:
        """The plan that a policy has made so far, and why."""
        return self.path / "plan.json"

    @property
    def result(self) -> Path:
        """How the run ended."""
        return self.path / "result.json"

    @property
    def checkpoint(self) -> Path:
        """Everything needed to go on."""
        return self.path / "checkpoint.pt"

    @property
    def previous_checkpoint(self) -> Path:
        """The checkpoint before the newest."""
        return self.path / "checkpoint-previous.pt"

    @property
    def refused_checkpoint(self) -> Path:
        """A newest checkpoint that could not be used, put aside."""
        return self.path / "checkpoint-refused.pt"

    @property
    def has_checkpoint(self) -> bool:
        """Whether there is anything to go on from."""
        return self.checkpoint.exists() or self.previous_checkpoint.exists()

    @property
    def snapshots(self) -> Path:
        """Weights at the cycle ends, and the final ones."""
        return self.path / "snapshots"

    def drop_checkpoints(self) -> None:
        """Remove what a finished run needs no more."""
        for path in (self.previous_checkpoint, self.checkpoint):
            path.unlink(missing_ok=True)

    def drop_drafts(self) -> None:
        """Remove what a killed process had begun to write; only who holds the folder may."""
        for path in (*self.path.glob(".*.draft"), *self.snapshots.glob(".*.draft")):
            path.unlink(missing_ok=True)

    def set_status(self, status: str, **more: Any) -> None:
        """Rewrite the status in ``run.json``."""
        write_json(self.run, {**read_json(self.run), "status": status, **more})


def find_runs(root: Path) -> list[RunFolder]:
    """Return every run folder below ``root`` in order of name."""
    if not root.is_dir():
        raise InputError(f"folder must exist and hold runs, got {root}")
    return [RunFolder(path.parent) for path in sorted(root.rglob("run.json"))]


def folder_name(*parts: str | None) -> str:
    """Return parts as one name of a folder: never a path, a hidden file or too long.

    >>> folder_name("CBS-5", None, "epochs=3", "data=../x")
    'CBS-5--epochs-3--data-..-x'
    """
    text = "--".join(str(part) for part in parts if part)
    name = re.sub(r"[^\w.,+'() -]", "-", text, flags=re.ASCII)
    name = f"-{name[1:]}" if name.startswith((".", " ")) else name
    if len(name) > 150:  # file systems allow 255 bytes, and drafts add some
        name = f"{name[:130]}-{hashlib.sha256(text.encode(errors='replace')).hexdigest()[:16]}"
    return name or "-"


def _finite(value: Any) -> Any:
    """JSON has no NaN and no infinity: they become null."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {str(key): _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return value
