"""Something to read on every terminal, whatever signs it can show."""

import codecs
import io
import sys

NAME = "rebatch.stand_in"
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


codecs.register_error(NAME, stand_in)


def print_anything() -> None:
    """Let standard output and standard error take any text."""
    for stream in (sys.stdout, sys.stderr):
        # surrogateescape is how the C locale hands a file's name through as it is.
        if isinstance(stream, io.TextIOWrapper) and stream.errors != "surrogateescape":
            stream.reconfigure(errors=NAME)
