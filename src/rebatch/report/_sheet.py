"""Widths of a table's columns on paper, where nobody can scroll."""

from collections.abc import Sequence

SHEET = 115
"""Characters that stand side by side on A4 in the type that tables have there."""
PADDING = 2
"""The room between two columns, in characters."""
FLOOR = 12
"""A column is as wide as its longest text, or as this many characters, before others have more."""


def shares(lengths: Sequence[int]) -> list[float]:
    """Return the shares of a sheet, in per cent, of columns with texts so long; none if all fit.

    What is left above the floors goes to long texts, by how much longer they are.

    >>> shares([20, 20]), shares([10, 10, 138])
    ([], [10.4, 10.4, 79.1])
    """
    whole = [length + PADDING for length in lengths]
    if sum(whole) <= SHEET:
        return []
    floors = [min(length, FLOOR + PADDING) for length in whole]
    over = [length - floor for length, floor in zip(whole, floors, strict=True)]
    spare = max(0.0, SHEET - sum(floors)) / max(1, sum(over))
    widths = [floor + min(1.0, spare) * more for floor, more in zip(floors, over, strict=True)]
    return [round(100 * width / sum(widths), 1) for width in widths]
