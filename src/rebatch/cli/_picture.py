"""Where a picture may be written, asked before anything is computed for it."""

import os
from importlib.util import find_spec
from pathlib import Path

from rebatch.errors import InputError, RunError


def check_picture(path: Path | str | None, *endings: str) -> None:
    """Refuse a picture that could not be drawn once everything is measured.

    ``endings`` are those allowed beside ``.png`` and ``.svg``.
    """
    if path is None:
        return
    suffix, allowed = Path(path).suffix.lower(), (".png", ".svg", *endings)
    if suffix not in allowed:
        raise InputError(f"plot must end in {' or '.join(allowed)}, got {str(path)!r}")
    if not os.path.isdir(Path(path).parent):
        raise InputError(f"plot must lie in a folder that exists, got {str(path)!r}")
    if suffix not in endings and find_spec("matplotlib") is None:
        raise RunError("a picture needs matplotlib: pip install 'rebatch[plot]'")
