"""How weights start, by name: some names end in a number, as gaussian-0.1."""

from rebatch.errors import InputError, positive_number, shown

STARTS = ("default", "xavier", "msra", "orthogonal", "lsuv", "gaussian-SIGMA")
"""Of networks of convolutions and dense layers."""
STARTS_OF_TEXT = ("default", "uniform-BOUND")
"""Of language models, whose recurrent weights the others would leave alone."""


def parse_start(how: str, choices: tuple[str, ...] = STARTS) -> tuple[str, float | None]:
    """Return the name of an initialisation and its number, if it is one that has one.

    >>> parse_start("msra"), parse_start("gaussian-0.1")
    (('msra', None), ('gaussian', 0.1))
    """
    name, dash, number = how.partition("-")
    if not dash and name in choices:
        return name, None
    try:
        if any(choice.startswith(f"{name}-") for choice in choices):
            return name, positive_number("number", float(number))
    except ValueError:  # not a number, or InputError: not a positive one
        pass
    raise InputError(f"initialization must be one of {', '.join(choices)}, got {shown(how)}")
