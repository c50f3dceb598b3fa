"""The two ways things go wrong: the caller's input, or the run itself."""


class InputError(ValueError):
    """Wrong input: says which argument, the rule and the value (exit code 2)."""


class RunError(RuntimeError):
    """A run, file or download that failed for reasons outside the input (exit code 1)."""


def positive_int(name: str, value: object, *, at_least: int = 1) -> int:
    """Return ``value`` if it is a whole number of at least ``at_least``.

    >>> positive_int("base", 10)
    10
    >>> positive_int("base", 2.5)
    Traceback (most recent call last):
    ...
    rebatch.errors.InputError: base must be a whole number of at least 1, got 2.5
    """
    whole = isinstance(value, int) and not isinstance(value, bool)
    if not whole or value < at_least:  # type: ignore[operator]
        raise InputError(f"{name} must be a whole number of at least {at_least}, got {value}")
    return value  # type: ignore[return-value]


def positive_number(name: str, value: object, *, zero: bool = False) -> float:
    """Return ``value`` if it is a finite number above 0 (or also 0 with ``zero``)."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not (value < float("inf")) or value < 0 or (value == 0 and not zero):  # type: ignore[operator]
        rule = "a finite number of at least 0" if zero else "a finite number above 0"
        raise InputError(f"{name} must be {rule}, got {value}")
    return value  # type: ignore[return-value]


def one_of(name: str, value: str, choices: tuple[str, ...]) -> str:
    """Return ``value`` if it is one of ``choices``."""
    if value not in choices:
        raise InputError(f"{name} must be one of {', '.join(choices)}, got {value!r}")
    return value
