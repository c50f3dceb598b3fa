"""A chart drawn without a script: what is printed, mailed, and seen until the script has run."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

from rebatch.report._chart import SHAPES, Chart, Series
from rebatch.report._scale import doubling_ticks, drawable, linear_ticks, short

WIDTH = 720
LEFT, RIGHT, TOP, BOTTOM = 58, 14, 12, 46
SPACING = 70
"""Pixels between the shapes that mark a curve."""
SHORT = 12
"""Height of the marks where there are many."""


def style(index: int) -> str:
    """Return the classes of a series: a colour of its own, then the colours again with dashes."""
    return f"s{index % len(SHAPES)} d{index // len(SHAPES) % 4}"


def svg(chart: Chart, ident: str, *, width: int = WIDTH, place: str = "") -> str:
    """Return the chart as an SVG element with a title and a description."""
    frame = _Frame(*chart.ranges, chart.log, chart.height, width)
    drawn = [*_axes(chart, frame), f'<g clip-path="url(#{ident}-clip)">']
    drawn += [*_marks(chart, frame), *_curves(chart, frame), "</g>", *_points(chart, frame)]
    drawn += _rings(chart, frame)
    return (
        f'<svg role="img" aria-labelledby="{ident}-title {ident}-desc" '
        f'viewBox="0 0 {width} {chart.height}"{place}>'
        f'<title id="{ident}-title">{escape(chart.title)}</title>'
        f'<desc id="{ident}-desc">{escape(chart.describe())}</desc>'
        f'<clipPath id="{ident}-clip"><rect x="{LEFT - 1}" y="{TOP - 3}" '
        f'width="{width - LEFT - RIGHT + 2}" height="{frame.floor - TOP + 6}"/></clipPath>'
        f"{''.join(drawn)}</svg>"
    )


@dataclass(frozen=True, slots=True)
class _Frame:
    """Where values lie on the paper."""

    x_range: tuple[float, float]
    y_range: tuple[float, float]
    log: bool
    height: int
    width: int

    @property
    def floor(self) -> int:
        return self.height - BOTTOM

    @property
    def end(self) -> int:
        """Where the horizontal axis ends."""
        return self.width - RIGHT

    def holds(self, x: float, y: float) -> bool:
        """Say whether a point on paper lies between the axes."""
        return LEFT <= x <= self.end and TOP <= y <= self.floor

    def x(self, value: float) -> float:
        low, high = self.x_range
        return round(LEFT + (value - low) / (high - low) * (self.end - LEFT), 2)

    def y(self, value: float) -> float:
        low, high = self.y_range
        if self.log:
            low, high, value = math.log2(low), math.log2(high), math.log2(value)
        return round(self.floor - (value - low) / (high - low) * (self.floor - TOP), 2)


def _axes(chart: Chart, frame: _Frame) -> Iterator[str]:
    for value in _y_ticks(chart, frame):
        y = frame.y(value)
        yield f'<path class="grid" d="M{LEFT} {y}H{frame.end}"/>'
        yield f'<text class="tick end" x="{LEFT - 8}" y="{y + 4}">{short(value)}</text>'
    for value in linear_ticks(*frame.x_range, count=min(7, max(3, (frame.end - LEFT) // 90))):
        x = frame.x(value)
        yield f'<path class="axis" d="M{x} {frame.floor}v5"/>'
        yield f'<text class="tick mid" x="{x}" y="{frame.floor + 19}">{short(value)}</text>'
    yield f'<path class="axis" d="M{LEFT} {frame.floor}H{frame.end}"/>'
    middle = (LEFT + frame.end) / 2
    place = f'x="{middle}" y="{frame.height - 8}"'
    yield f'<text class="label mid" {place}>{escape(chart.x_label)}</text>'
    if chart.smallest is None:
        place = f'x="{middle}" y="{frame.floor / 2}"'
        yield f'<text class="mid" {place}>no data</text>'


def _y_ticks(chart: Chart, frame: _Frame) -> list[float]:
    low, high = frame.y_range
    if chart.log:
        return doubling_ticks(chart.smallest or low, low, high)
    return linear_ticks(low, high)


def _marks(chart: Chart, frame: _Frame) -> Iterator[str]:
    names = [series.name for series in chart.series]
    top, kind = (TOP, "") if chart.has_few_lines else (frame.floor - SHORT, " short")
    for mark in chart.marks:
        colour = f" {style(names.index(mark.series))}" if mark.series in names else ""
        if not mark.on_curve:
            yield f'<path class="mark{kind}{colour}" d="M{frame.x(mark.at)} {top}V{frame.floor}"/>'


def _rings(chart: Chart, frame: _Frame) -> Iterator[str]:
    """Yield the marks that stand on a curve."""
    names = [series.name for series in chart.series]
    for mark in chart.marks:
        if not (mark.on_curve and mark.label and mark.series in names):
            continue
        index = names.index(mark.series)
        height = chart.series[index].at(mark.at)
        if height is not None and drawable(height, log=chart.log):
            x, y = frame.x(mark.at), frame.y(height)
            if frame.holds(x, y):
                yield f'<circle class="ring {style(index)}" cx="{x}" cy="{y}" r="4.5"/>'


def _curves(chart: Chart, frame: _Frame) -> Iterator[str]:
    for index, series in enumerate(chart.series):
        if series.low is not None:
            yield f'<path class="band {style(index)}" d="{_band(series, frame)}"/>'
    for index, series in enumerate(chart.series):
        runs = _runs(series.x, series.y, frame)
        line = "".join(_line(run, series.step) for run in runs)
        yield f'<path class="curve {style(index)}" d="{line}"/>'


def _points(chart: Chart, frame: _Frame) -> Iterator[str]:
    """Yield the shapes along the curves that tell them apart, and every point without a line."""
    for index, series in enumerate(chart.series):
        runs = _runs(series.x, series.y, frame)
        told = runs if len(chart.series) > 1 else [run for run in runs if len(run) == 1]
        for x, y in _spaced(point for run in told for point in run):
            if frame.holds(x, y):
                yield point(index, x, y)


def point(index: int, x: float, y: float) -> str:
    """Return the shape of a series at a place."""
    shape = f"#shape{index % len(SHAPES)}"
    return f'<use class="point {style(index)}" href="{shape}" x="{x}" y="{y}"/>'


def _runs(
    xs: Sequence[float], ys: Sequence[float | None], frame: _Frame
) -> list[list[tuple[float, float]]]:
    """Return the points on paper, apart wherever a value is missing."""
    runs: list[list[tuple[float, float]]] = [[]]
    for x, y in zip(xs, ys, strict=True):
        if y is not None and drawable(y, log=frame.log):
            runs[-1].append((frame.x(x), frame.y(y)))
        elif runs[-1]:
            runs.append([])
    return [run for run in runs if run]


def _line(run: Sequence[tuple[float, float]], step: bool) -> str:
    (x, y), *rest = run
    pieces = (f"H{x}V{y}" if step else f"L{x} {y}" for x, y in rest)
    return f"M{x} {y}" + "".join(pieces)


def _band(series: Series, frame: _Frame) -> str:
    """Return the outline of each stretch that has both a low and a high."""
    pairs = zip(series.low or (), series.high or (), strict=True)
    whole = [
        pair if all(drawable(value, log=frame.log) for value in pair) else (None, None)
        for pair in pairs
    ]
    lows, highs = (_runs(series.x, [pair[side] for pair in whole], frame) for side in (0, 1))
    return "".join(
        _line([*_corners(high, series.step), *reversed(_corners(low, series.step))], False) + "Z"
        for low, high in zip(lows, highs, strict=True)
    )


def _corners(run: list[tuple[float, float]], step: bool) -> list[tuple[float, float]]:
    """Return the points with the corners that a step makes between them."""
    if not step:
        return run
    corners = [run[0]]
    for x, y in run[1:]:
        corners += [(x, corners[-1][1]), (x, y)]
    return corners


def _spaced(points: Iterator[tuple[float, float]]) -> Iterator[tuple[float, float]]:
    last = -math.inf
    for x, y in points:
        if x - last >= SPACING:
            last = x
            yield x, y
