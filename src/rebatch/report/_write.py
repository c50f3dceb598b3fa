"""Writing a finished file: whole or not at all."""

import os
from pathlib import Path

from rebatch.errors import RunError
from rebatch.records import write_bytes


def write(path: str | os.PathLike[str], content: str | bytes) -> Path:
    """Write a page or a picture into a folder that is there, and return where it is."""
    target = Path(path)
    if not target.parent.is_dir():
        raise RunError(f"{target} could not be written: there is no folder {target.parent}")
    data = content.encode("utf-8", "replace") if isinstance(content, str) else content
    write_bytes(target, data)
    return target
