"""Axes: the range a chart shows, round positions to label on it, and the labels."""

import math
from collections.abc import Iterable

LARGEST = 1e300
"""Above this the differences between numbers no longer fit a float."""


def drawable(value: float | None, *, log: bool = False) -> bool:
    """Say whether a value has a place on an axis."""
    if value is None or not abs(value) < LARGEST:
        return False
    return value > 0 or not log


def extent(values: Iterable[float], *, log: bool = False, pad: float = 0.0) -> tuple[float, float]:
    """Return the range that shows all values, with room at both ends.

    The room is ``pad`` times the range, or ``pad`` doublings of a logarithmic axis.

    >>> extent([10, 20, 50], pad=0.05)
    (8.0, 52.0)
    >>> extent([10, 80], log=True, pad=1)
    (5.0, 160.0)
    """
    numbers = list(values)
    if not numbers:
        return (1.0, 2.0) if log else (0.0, 1.0)
    low, high = float(min(numbers)), float(max(numbers))
    if log:
        return low / 2**pad, high * 2**pad
    if high - low <= 1e-9 * max(abs(low), abs(high)):
        room = abs(high) / 10 or 1.0
        return low - room, high + room
    room = pad * (high - low)
    return low - room, high + room


def linear_ticks(low: float, high: float, count: int = 5) -> list[float]:
    """Return about ``count`` round numbers from ``low`` to ``high``.

    >>> linear_ticks(0, 39)
    [0.0, 10.0, 20.0, 30.0]
    >>> linear_ticks(96.2, 97.1)
    [96.2, 96.4, 96.6, 96.8, 97.0]
    """
    rough = (high - low) / count
    power = math.floor(math.log10(rough))
    size = next(size for size in (1, 2, 5, 10) if size * 10.0**power >= 0.75 * rough)
    step = size * 10.0**power
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    digits = max(0, -power)
    return [round(index * step, digits) + 0.0 for index in range(first, last + 1)]


def doubling_ticks(smallest: float, low: float, high: float, count: int = 8) -> list[float]:
    """Return ``smallest`` times powers of two inside the range: the sizes of a cycle.

    >>> doubling_ticks(10, 5, 170)
    [5.0, 10.0, 20.0, 40.0, 80.0, 160.0]
    """
    first = math.ceil(math.log2(low / smallest) - 1e-9)
    last = math.floor(math.log2(high / smallest) + 1e-9)
    every = -(-(last - first + 1) // count) or 1
    return [smallest * 2.0**power for power in range(first, last + 1) if power % every == 0]


def short(value: float) -> str:
    """Write a tick's number in few characters.

    >>> [short(value) for value in (0, 0.25, 2048, 20_000, 1_500_000)]
    ['0', '0.25', '2048', '20k', '1.5M']
    """
    for suffix, unit in (("T", 1e12), ("B", 1e9), ("M", 1e6), ("k", 1e3)):
        if abs(value) >= max(unit, 1e4):
            return f"{value / unit:.4g}{suffix}"
    return f"{value:.6g}"
