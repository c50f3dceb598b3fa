"""Writing a finished file: whole or not at all."""

import os
from pathlib import Path

from rebatch.errors import RunError


def write(path: str | os.PathLike[str], content: str | bytes) -> Path:
    """Write a file beside its place and move it there, so that nobody reads half of it."""
    target = Path(path)
    data = content.encode("utf-8", "replace") if isinstance(content, str) else content
    beside = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        try:
            beside.write_bytes(data)
            os.replace(beside, target)
        finally:
            beside.unlink(missing_ok=True)
    except OSError as error:
        raise RunError(f"could not write {target}: {error.strerror or error}") from None
    return target
