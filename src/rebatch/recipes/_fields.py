"""The values of a recipe's fields: read from text or JSON, checked against the field's type."""

import ast
import sys
from types import UnionType
from typing import Any, get_args, get_origin

from rebatch.errors import InputError, shown
from rebatch.rates import Rate, constant, parse_rate


def read(name: str, kind: Any, text: str) -> Any:
    """Return the value of a field from its text.

    >>> read("at", tuple[int, ...], "30, 60"), read("clip", float | None, "none")
    ((30, 60), None)
    """
    if kind is str:
        return text
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
        value = {"none": None, "true": True, "false": False}.get(text.lower(), text)
    return converted(name, kind, value)


def converted(name: str, kind: Any, value: Any) -> Any:
    """Return the value as the field's type has it, or say what the field wants.

    >>> converted("clip", float | None, 1)
    1.0
    """
    value = _tuples(value)
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if kind is Rate and isinstance(value, str):
        value = parse_rate(value)
    elif kind is Rate and number:
        value = constant(value)
    elif number and float in (kind, *get_args(kind)) and abs(value) <= sys.float_info.max:
        value = float(value)
    if not _fits(value, kind):
        raise InputError(f"{name} must be {_words(kind)}, got {shown(value)}")
    return value


def _tuples(value: Any) -> Any:
    """JSON knows no tuples."""
    return tuple(map(_tuples, value)) if isinstance(value, list | tuple) else value


def _fits(value: Any, kind: Any) -> bool:
    """Tell whether a value is of a type, which may be a union or a tuple."""
    inner = get_args(kind)
    if get_origin(kind) is tuple:
        if not isinstance(value, tuple):
            return False
        kinds = inner[:1] * len(value) if inner[-1] is ... else inner
        return len(value) == len(kinds) and all(map(_fits, value, kinds))
    if isinstance(kind, UnionType):
        return any(_fits(value, each) for each in inner)
    return isinstance(value, kind) and isinstance(value, bool) == (kind is bool)


def _words(kind: Any) -> str:
    known = {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}
    if isinstance(kind, UnionType):
        return f"{_words(get_args(kind)[0])} or none"
    if get_origin(kind) is tuple:
        return f"a tuple such as {_example(kind)}"
    return known.get(kind, "a rate")


def _example(kind: Any) -> str:
    """Write a value of a kind as it is typed; the comma makes a tuple of a single one."""
    inner = [_example(each) for each in get_args(kind) if each is not ...]
    if get_origin(kind) is not tuple:
        return "10" if kind is int else "'a'"
    return f"({', '.join(inner)}{',' if len(inner) == 1 else ''})"
