"""Something to read on every terminal, whatever signs it can show."""

import codecs
import io
import sys

NAME, NAME_IN_C = "rebatch.stand_in", "rebatch.stand_in_or_byte"
PLAIN = {"…": "...", "–": "-", "−": "-", "±": "+-", "²": "^2", "·": "*", "→": "->"}


def stand_in(error: UnicodeError) -> tuple[str, int]:
    """Return what is printed for signs that a terminal cannot show, and where to go on.

    >>> "92.59 ± 0.32 …".encode("ascii", "rebatch.stand_in")
    b'92.59 +- 0.32 ...'
    """
    if not isinstance(error, UnicodeEncodeError):
        raise error
    signs = error.object[error.start : error.end]
    shown = "".join(PLAIN.get(sign) or ascii(sign)[1:-1] for sign in signs)
    return shown, error.end


def stand_in_or_byte(error: UnicodeError) -> tuple[str | bytes, int]:
    """Return the same of one sign, but a byte of a file's name as it is, as the C locale does."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    error.end = error.start + 1
    try:
        return codecs.lookup_error("surrogateescape")(error)
    except UnicodeEncodeError:
        return stand_in(error)


codecs.register_error(NAME, stand_in)
codecs.register_error(NAME_IN_C, stand_in_or_byte)


def print_anything() -> None:
    """Let standard output and standard error take any text."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            in_c = stream.errors == "surrogateescape"
            stream.reconfigure(errors=NAME_IN_C if in_c else NAME)
