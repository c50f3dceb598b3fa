"""A chart: what is drawn, as values.  `rebatch.report.page` turns it into an interactive figure."""

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from rebatch.errors import InputError
from rebatch.report._scale import drawable, extent

SHAPES = (
    "M-3.4 0a3.4 3.4 0 1 0 6.8 0a3.4 3.4 0 1 0-6.8 0Z",
    "M-3-3h6v6h-6Z",
    "M0-4.2L4 3.2H-4Z",
    "M0-4.4L4 0L0 4.4L-4 0Z",
    "M0 4.2L4-3.2H-4Z",
    "M-3.6-2.2l1.4-1.4L0-1.4L2.2-3.6l1.4 1.4L1.4 0L3.6 2.2L2.2 3.6L0 1.4L-2.2 3.6L-3.6 2.2L-1.4 0Z",
)
"""What tells series apart beside their colour: one shape a colour, then dashes."""


@dataclass(frozen=True, kw_only=True)
class Series:
    """A curve.  Values that are no numbers (NaN, infinity, None) leave a gap."""

    name: str
    x: Sequence[float]
    y: Sequence[float | None]
    low: Sequence[float | None] | None = None
    """With ``high``: a band around the curve, such as the spread over seeds."""
    high: Sequence[float | None] | None = None
    step: bool = False
    """Hold each value until the next ``x`` instead of drawing a slope."""

    def __post_init__(self) -> None:
        for name, values in (("y", self.y), ("low", self.low), ("high", self.high)):
            if values is not None and len(values) != len(self.x):
                rule = f"have as many values as x, {len(self.x)}"
                raise InputError(f"{name} of {self.name!r} must {rule}, got {len(values)}")
        if (self.low is None) != (self.high is None):
            raise InputError(f"low and high of {self.name!r} must be given together, got one")
        if any(not drawable(x) for x in self.x):
            raise InputError(f"x of {self.name!r} must be finite numbers, got one that is not")
        if any(after < before for before, after in pairwise(self.x)):
            raise InputError(f"x of {self.name!r} must not fall, got an x below the one before")

    def at(self, x: float) -> float | None:
        """Return the height of the curve at ``x``, between two points on the line; or nothing.

        >>> Series(name="a", x=[0, 2], y=[1, 5]).at(1)
        3.0
        """
        after = bisect_right(self.x, x)
        before = after - 1
        if before < 0 or (after == len(self.x) and self.x[-1] != x):
            return None
        low, high = self.y[before], self.y[min(after, len(self.x) - 1)]
        if self.step or self.x[before] == x or low is None or high is None:
            return low
        return low + (high - low) * (x - self.x[before]) / (self.x[after] - self.x[before])


FEW_MARKS = 16
"""More lines than this are drawn as short ones along the axis, so as not to hide the curves."""


@dataclass(frozen=True, kw_only=True)
class Mark:
    """A vertical line, such as the end of a cycle; of one series, or of the whole chart."""

    at: float
    label: str = ""
    series: str | None = None
    """The name of the series whose colour it takes and with which it hides."""
    note: str = ""
    """What the pointer is told there, instead of the label."""
    on_curve: bool = False
    """Stand on the curve of its series as a ring, if it has a label, instead of as a line."""


@dataclass(frozen=True, kw_only=True)
class Chart:
    """Curves over one pair of axes."""

    title: str
    x_label: str
    y_label: str
    series: Sequence[Series]
    marks: Sequence[Mark] = ()
    log: bool = False
    """A vertical axis in doublings, as batch sizes need it."""
    description: str = ""
    """What there is to see, for those who cannot see it; said from the data if it is empty."""
    height: int = 320
    x_range: tuple[float, float] | None = None
    y_range: tuple[float, float] | None = None
    skip: float = 0.0
    """Fit the vertical axis to what comes after this share of the horizontal one, so that a steep
    start does not flatten the rest."""

    @property
    def ranges(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """What the axes show: the ranges given, or the data with some room above and below."""
        low, high = self.x_range or extent([x for series in self.series for x in series.x])
        late = self._heights(low + self.skip * (high - low))
        fitted = extent(late, log=self.log, pad=self.room)
        return (low, high), self.y_range or fitted

    @property
    def fixed(self) -> bool:
        """Whether the vertical range was chosen, so that hiding a curve leaves it as it is."""
        return self.y_range is not None or self.skip > 0

    @property
    def room(self) -> float:
        """How much of the range, or of a doubling, is left free above and below the curves."""
        return 0.35 if self.log else 0.06

    @property
    def smallest(self) -> float | None:
        """The smallest value of a curve with a place on the vertical axis, if there is one."""
        values = (y for series in self.series for y in series.y if y is not None)
        return min((y for y in values if drawable(y, log=self.log)), default=None)

    @property
    def has_few_lines(self) -> bool:
        """Whether the marks that are lines can be drawn over the whole height."""
        return sum(not mark.on_curve for mark in self.marks) <= FEW_MARKS

    def _heights(self, start: float = -math.inf) -> list[float]:
        columns = ((s.x, ys) for s in self.series for ys in (s.y, s.low, s.high) if ys is not None)
        points = (point for xs, ys in columns for point in zip(xs, ys, strict=True))
        return [y for x, y in points if y is not None and x >= start and drawable(y, log=self.log)]

    def describe(self) -> str:
        """Return a text alternative: what is on the axes, and where each series starts and ends."""
        if self.description:
            return self.description
        said = [f"{self.y_label} against {self.x_label}."]
        said += [_describe(series, self.log) for series in self.series]
        return " ".join(said)


def _describe(series: Series, log: bool) -> str:
    values = [y for y in series.y if y is not None and drawable(y, log=log)]
    if not values:
        return f"{series.name}: no values."
    ends = f"from {values[0]:.6g} to {values[-1]:.6g}"
    return f"{series.name}: {ends}, lowest {min(values):.6g}, highest {max(values):.6g}."
