"""The two ways things go wrong, the caller's input or the run itself, and checks of input."""

import operator
import sys
from dataclasses import fields
from itertools import pairwise
from numbers import Rational, Real
from typing import Any

LARGEST = 2**53
"""The largest whole number taken anywhere: up to here a float holds each of them exactly."""


class InputError(ValueError):
    """Wrong input: says which argument, the rule and the value (exit code 2)."""


class RunError(RuntimeError):
    """A run, file or download that failed for reasons outside the input (exit code 1)."""

    code = 1
    """What the command line leaves with."""


def plain(value: Any) -> Any:
    """Return a number of another library, numpy's for instance, as Python's own.

    Whatever else it is given comes back as it is.

    >>> class Three:
    ...     def __index__(self):
    ...         return 3
    >>> plain(Three()), plain(2.5), plain(True), plain("3")
    (3, 2.5, True, '3')
    """
    if isinstance(value, bool):
        return value
    try:
        return operator.index(value)
    except TypeError:
        real = isinstance(value, Real) and not isinstance(value, Rational)
        return float(value) if real else value


def hold_plain(instance: Any) -> None:
    """Hold the numbers in the fields of a frozen dataclass as Python's own.

    Others overflow, print as a text that does not read back, and are no JSON.
    """
    for field in fields(instance):
        object.__setattr__(instance, field.name, plain(getattr(instance, field.name)))


def positive_int(name: str, value: object, *, at_least: int = 1) -> int:
    """Return ``value`` if it is a whole number from ``at_least`` to 2**53.

    >>> positive_int("base", 10)
    10
    >>> positive_int("base", 2.5)
    Traceback (most recent call last):
    ...
    rebatch.errors.InputError: base must be a whole number of at least 1, got 2.5
    """
    value = plain(value)
    if isinstance(value, bool) or not isinstance(value, int) or value < at_least:
        raise InputError(
            f"{name} must be a whole number of at least {at_least}, got {shown(value)}"
        )
    if value > LARGEST:
        raise InputError(f"{name} must be at most 2**53, got {shown(value)}")
    return value


def positive_number(name: str, value: object, *, zero: bool = False) -> float:
    """Return ``value`` if it is a finite number above 0 (or also 0 with ``zero``)."""
    value = plain(value)
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if number and 0 <= value <= sys.float_info.max and (value or zero):  # type: ignore[operator]
        return value  # type: ignore[return-value]
    rule = "a finite number of at least 0" if zero else "a finite number above 0"
    raise InputError(f"{name} must be {rule}, got {shown(value)}")


def one_of(name: str, value: str, choices: tuple[str, ...]) -> str:
    """Return ``value`` if it is one of ``choices``."""
    if value not in choices:
        raise InputError(f"{name} must be one of {', '.join(choices)}, got {shown(value)}")
    return value


def rising(name: str, values: object) -> tuple[int, ...]:
    """Return positions above 0, each after the one before; a single one needs no tuple.

    >>> rising("at", [30, 60]), rising("at", 5)
    ((30, 60), (5,))
    """
    several = values if isinstance(values, list | tuple) else (values,)
    positions = tuple(positive_int(name, position) for position in several)
    for before, after in pairwise(positions):
        if after <= before:
            raise InputError(f"{name} must rise, got {after} after {before}")
    return positions


def shown(value: object) -> str:
    """Return a value as an error message shows it: exact, on one line, and never endless.

    >>> shown("CBS-5"), shown(2.5), shown("x" * 200)[-14:]
    ("'CBS-5'", '2.5', 'xxxxxxxxxx...')
    """
    if isinstance(value, int) and value.bit_length() > 1000:
        return f"a number of {value.bit_length()} bits"  # Python refuses to print the longest
    text = repr(value)
    return text if len(text) <= 100 else f"{text[:97]}..."


def flaw(error: Exception) -> str:
    """Return what is wrong with data that could not be read, for the end of "must be …, got".

    >>> flaw(KeyError("rows")), flaw(TypeError("'int' object is not iterable"))
    ("one without 'rows'", 'one of another form')
    """
    if isinstance(error, KeyError):
        return f"one without {error}"
    return shown(str(error)) if isinstance(error, ValueError) else "one of another form"
