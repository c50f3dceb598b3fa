"""Growth by a factor, up to a largest size."""

from rebatch.errors import LARGEST, InputError, positive_int, positive_number


def check_growth(base: int, factor: float, largest: int | None) -> None:
    """Raise where ``base * factor**times``, up to ``largest``, would not be batch sizes."""
    positive_int("base", base)
    positive_number("factor", factor)
    if largest is not None and positive_int("largest", largest) < base:
        raise InputError(f"largest must be at least base, which is {base}, got {largest}")


def grown(base: int, factor: float, times: int, largest: int | None) -> int:
    """Return ``base * factor**times``, rounded once, from 1 to ``largest`` or else 2**53.

    >>> grown(128, 5, 2, None), grown(128, 5, 9, 3200), grown(128, 5, 10**6, None) == 2**53
    (3200, 3200, True)
    """
    limit = LARGEST if largest is None else largest
    try:
        return max(1, round(min(limit, base * float(factor) ** times)))
    except OverflowError:
        return limit
