"""How long an update takes on one device: a straight line through measured points."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from rebatch.errors import InputError, positive_int, positive_number, shown

PRESETS: Mapping[str, Mapping[int, float]] = {
    "resnet20": {128: 2.10, 256: 2.84, 512: 4.48, 1024: 8.20},
    "wrn-16-4": {128: 2.30, 256: 3.80, 512: 6.69},
    "l1": {10: 1.97, 20: 1.98, 40: 2.90, 80: 4.07, 640: 15.4},
    "l2": {10: 4.68, 20: 5.13, 40: 6.66, 80: 9.25},
}
"""Milliseconds of a whole update by batch size, measured on one H200: bf16, one CUDA graph an
update, 30 updates after 8 others, in one run (so good to about 5 %).  The first two are CIFAR
networks, the others the LSTMs of 650 and 1500 units at bptt 35 and 10,000 words."""
PRESET_SOURCE = "measured on one H200"

_POINTS = re.compile(r"\s*\S+?:\S+?(?:[\s,]+\S+?:\S+?)*\s*")


@dataclass(frozen=True, slots=True)
class UpdateTimes:
    """``t(b) = fixed + each * b`` seconds for ``b`` samples at once, and where that comes from."""

    fixed: float
    each: float
    smallest: int
    """The smallest batch size measured: below it the line is a guess."""
    largest: int
    off: float
    """By how much of the measured time the line misses the worst point."""
    source: str

    def seconds(self, samples: int, pieces: int = 1) -> float:
        """Return how long ``samples`` take that are cut into ``pieces``."""
        return pieces * self.fixed + samples * self.each


def fit(milliseconds: Mapping[int, float], source: str = "as given") -> UpdateTimes:
    """Fit the line to measured milliseconds by batch size.

    It has the smallest squared *relative* errors of all lines that do not start below 0.

    >>> times = fit({32: 10.0, 96: 20.0})
    >>> round(times.fixed * 1000, 6), round(times.each * 1000, 6)
    (5.0, 0.15625)
    """
    if len(milliseconds) < 2:
        got = len(milliseconds)
        raise InputError(f"update_times must be of at least two batch sizes, got {got}")
    milliseconds = {
        positive_int("batch size of update_times", size): positive_number("update_times", value)
        for size, value in milliseconds.items()
    }
    fixed, each = _line(milliseconds)
    if each <= 0:
        rule = "grow with the batch size"
        raise InputError(f"update_times must {rule}, got {shown(dict(milliseconds))}")
    off = max(abs(fixed + each * size - ms) / ms for size, ms in milliseconds.items())
    smallest, largest = min(milliseconds), max(milliseconds)
    return UpdateTimes(fixed / 1000, each / 1000, smallest, largest, off, source)


def preset(name: str) -> UpdateTimes:
    """Return the line of a preset."""
    return fit(PRESETS[name], f"{name}, {PRESET_SOURCE}")


def read(text: str, source: str = "as given") -> UpdateTimes:
    """Read points such as ``32:9.5, 64:15.2``: batch size and milliseconds.

    Points stand apart by commas, blanks or lines; the rest of a line after ``#`` is ignored.
    """
    plain = re.sub(r"#.*", "", text)
    points = [_point(item) for item in re.split(r"[\s,]+", plain) if item]
    sizes = [size for size, _ in points]
    for size in sizes:
        if sizes.count(size) > 1:
            raise InputError(f"update_times must name each batch size once, got {size} twice")
    return fit(dict(points), source)


def is_points(text: str) -> bool:
    """Return whether a text is meant as points, rather than the name of a file.

    >>> is_points("32:9.5, 64:15.2"), is_points("times.txt")
    (True, False)
    """
    return _POINTS.fullmatch(text) is not None


def _point(item: str) -> tuple[int, float]:
    size, _, milliseconds = item.partition(":")
    try:
        return int(size), float(milliseconds)
    except ValueError:
        rule = "points such as 32:9.5, batch size and milliseconds"
        raise InputError(f"update_times must be {rule}, got {shown(item)}") from None


def _line(points: Mapping[int, float]) -> tuple[float, float]:
    """Return start and slope; each point weighs as much as its own time is short."""
    weights = {size: ms**-2 for size, ms in points.items()}
    total = sum(weights.values())
    size = sum(weight * b for b, weight in weights.items()) / total
    time = sum(weights[b] * ms for b, ms in points.items()) / total
    spread = sum(weight * (b - size) ** 2 for b, weight in weights.items())
    each = sum(weights[b] * (b - size) * (ms - time) for b, ms in points.items()) / spread
    if time - each * size >= 0:
        return time - each * size, each
    squares = sum(weight * b**2 for b, weight in weights.items())
    return 0.0, sum(weights[b] * b * ms for b, ms in points.items()) / squares
