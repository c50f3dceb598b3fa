"""Numbers from the command line, refused in the words of the API."""

import re
from contextlib import suppress

from rebatch.errors import positive_int, positive_number
from rebatch.schedules._thresholds import SUFFIXES


def whole(name: str, text: str | None) -> int | None:
    """Read a whole number above 0, with K, M, B or T after it if wanted.

    >>> whole("examples", "50K"), whole("examples", None)
    (50000, None)
    """
    if text is None:
        return None
    found = re.fullmatch(r"([+-]?\d[\d_]*)([KMBT]?)", text.strip(), re.IGNORECASE)
    value: object = text
    with suppress(ValueError):
        value = int(found[1]) * SUFFIXES.get(found[2].upper(), 1) if found else float(text)
    return positive_int(name, value)


def number(name: str, text: str | None, *, zero: bool = False) -> float | None:
    """Read a finite number above 0, or also 0 with ``zero``."""
    if text is None:
        return None
    value: object = text
    with suppress(ValueError):
        value = float(text)
    return positive_number(name, value, zero=zero)
