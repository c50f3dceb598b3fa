"""Schedules as text, both ways: paper codes, thresholds and calls.

``str(schedule)`` gives the shortest of the three that a schedule has and `parse` reads it back.
"""

import ast
import re
from collections.abc import Callable

from rebatch.errors import InputError
from rebatch.schedules._combinators import clamp, join, multiple_of, repeat
from rebatch.schedules._constant import constant
from rebatch.schedules._cyclical import cyclical, triangular
from rebatch.schedules._ramps import cosine, cyclic, exponential, linear, one_cycle, polynomial
from rebatch.schedules._schedule import Clock, Schedule
from rebatch.schedules._staircase import (
    SUFFIXES,
    adabatch,
    milestones,
    square_wave,
    steps,
    thresholds,
)

FORM = "BL or CBS-k[-n][-A|-T]"
_NUMBER = re.compile(r"(\d+)([KMBT]?)")
_SHAPES: dict[str, Callable[..., Schedule]] = {
    shape.__name__: shape
    for shape in (
        *(constant, cyclical, triangular, thresholds, milestones, steps, adabatch, square_wave),
        *(polynomial, linear, exponential, cosine, cyclic, one_cycle),
        *(join, repeat, clamp, multiple_of),
    )
}


def parse(text: str, base: int | None = None, *, clock: Clock | None = None) -> Schedule:
    """Read a schedule from a paper code, a threshold string or a call.

    A code needs ``base``, the batch size of its first step; its clock is epochs unless said.
    Thresholds (``0:768 250B:1536``) count samples unless said.  A call names any shape.

    >>> parse("CBS-10-3-A", base=128)
    cyclical(128, width=10, steps=3, growth=4)
    >>> parse("0:768 250B:1536")(250_000_000_000)
    1536
    >>> parse("clamp(cyclical(10, width=1), high=50)")(3)
    50
    """
    stripped = text.strip()
    if "(" in stripped:
        return _parse_call(stripped, clock)
    if ":" in stripped:
        return _parse_thresholds(stripped, clock or "samples")
    return _parse_code(stripped, base, clock or "epochs")


def _parse_code(text: str, base: int | None, clock: Clock) -> Schedule:
    parts = text.upper().split("-")
    if parts[0] not in ("BL", "CBS"):
        raise _misread(text, 0, f"{parts[0]!r} is neither BL nor CBS")
    if base is None:
        raise InputError(f"base must be given with a paper code, got none for {text!r}")
    if parts[0] == "BL":
        if len(parts) > 1:
            raise _misread(text, 1, "BL stands alone")
        return constant(base, clock=clock)
    width, count, letter = _read_cycle(text, parts)
    if letter == "T":
        return triangular(base, width=width, steps=count, clock=clock)
    return cyclical(base, width=width, steps=count, growth=4 if letter else 2, clock=clock)


def _read_cycle(text: str, parts: list[str]) -> tuple[int, int, str]:
    if len(parts) < 2:
        raise _misread(text, 1, "a width in epochs must follow CBS-")
    width, index = _whole(text, parts, 1, at_least=1, what="width"), 2
    count = 4
    if len(parts) > index and parts[index] not in ("A", "T"):
        count, index = _whole(text, parts, index, at_least=2, what="number of steps"), 3
    letter = parts[index] if len(parts) > index else ""
    if letter not in ("A", "T") and len(parts) > index:
        raise _misread(text, index, f"{letter!r} is neither A nor T")
    if len(parts) > index + 1:
        raise _misread(text, index + 1, f"nothing may follow -{letter}")
    return width, count, letter


def _whole(text: str, parts: list[str], index: int, *, at_least: int, what: str) -> int:
    part = parts[index]
    if not (part.isascii() and part.isdigit()) or int(part) < at_least:
        found = repr(part) if part else "nothing"
        rule = f"a {what} must be a whole number of at least {at_least}"
        raise _misread(text, index, f"{rule}, not {found}")
    return int(part)


def _misread(text: str, index: int, why: str) -> InputError:
    place = len("-".join(text.split("-")[:index])) + (1 if index else 0) + 1
    return InputError(f"schedule must be {FORM}, got {text!r}: at character {place}, {why}")


def _parse_thresholds(text: str, clock: Clock) -> Schedule:
    points = []
    for word in text.split():
        start, _, size = word.partition(":")
        number = _NUMBER.fullmatch(start.upper())
        if not number or not (size.isascii() and size.isdigit()):
            rule = "threshold:size, as in '0:768 250B:1536' (K, M, B, T allowed)"
            raise InputError(f"schedule must be words of the form {rule}, got {word!r}")
        points.append((int(number[1]) * SUFFIXES.get(number[2], 1), int(size)))
    return thresholds(points, clock=clock)


def _parse_call(text: str, clock: Clock | None) -> Schedule:
    try:
        node = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise InputError(
            f"schedule must be a call such as linear(8, 64, length=5), got {text!r}"
        ) from None
    if clock and isinstance(node, ast.Call) and not any(k.arg == "clock" for k in node.keywords):
        node.keywords.append(ast.keyword("clock", ast.Constant(clock)))
    schedule = _evaluate(node)
    if not isinstance(schedule, Schedule):
        raise InputError(f"schedule must be a call that gives a schedule, got {text!r}")
    return schedule


def _evaluate(node: ast.expr) -> object:
    """Evaluate literals and calls of the known shapes, and nothing else."""
    if not isinstance(node, ast.Call):
        if any(isinstance(inner, ast.Call) for inner in ast.walk(node)):
            raise InputError(
                f"schedule must hold shapes as plain arguments, got {ast.unparse(node)!r}"
            )
        try:
            return ast.literal_eval(node)
        except (ValueError, TypeError, RecursionError, MemoryError):
            raise InputError(
                f"schedule must hold only numbers and shapes, got {ast.unparse(node)!r}"
            ) from None
    name = node.func.id if isinstance(node.func, ast.Name) else ast.unparse(node.func)
    if name not in _SHAPES:
        raise InputError(f"schedule must be one of {', '.join(sorted(_SHAPES))}, got {name!r}")
    arguments = [_evaluate(argument) for argument in node.args]
    keywords = {keyword.arg or "**": _evaluate(keyword.value) for keyword in node.keywords}
    try:
        return _SHAPES[name](*arguments, **keywords)
    except TypeError as error:
        problem = str(error).replace("__init__() ", "").replace(".__init__()", "")
        raise InputError(f"schedule must call {name} with its own arguments: {problem}") from None
