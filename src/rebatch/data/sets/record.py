"""What a download was: written beside the data, compared ever after."""

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from rebatch.errors import RunError

FOLDER = ".rebatch"


@dataclass(frozen=True)
class Record:
    """The address, the SHA-256 of the archive, and that of every file taken out of it."""

    url: str
    sha256: str
    files: Mapping[str, str]


def record_path(root: Path, name: str) -> Path:
    """Give the place of a data set's record."""
    return root / FOLDER / f"{name}.json"


def read_record(root: Path, name: str) -> Record | None:
    """Read a record, if there is one."""
    path = record_path(root, name)
    if not path.exists():
        return None
    try:
        stored = json.loads(path.read_text())
        return Record(str(stored["url"]), str(stored["sha256"]), dict(stored["files"]))
    except (ValueError, LookupError, TypeError) as error:
        raise RunError(f"{path} is not a readable record: {error!r}") from error


def write_record(root: Path, name: str, record: Record) -> None:
    """Write a record, whole or not at all."""
    path = record_path(root, name)
    draft = path.with_suffix(".draft")
    draft.write_text(json.dumps(asdict(record), indent=1) + "\n")
    os.replace(draft, path)


def sha256(path: Path) -> str:
    """Give the SHA-256 of a file in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
