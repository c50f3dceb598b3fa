"""Charts side by side as one picture, drawn by our own code: the same data give the same file."""

import re
from collections.abc import Iterator, Sequence
from html import escape
from importlib.resources import files

from rebatch.report._chart import SHAPES, Chart
from rebatch.report._svg import LEFT, point, style, svg

GAP, MARGIN, HEAD, ROW = 20, 14, 26, 22
_CHARACTER = 7.2
"""About the width of a letter of the legend."""
_RULES = (
    *(".grid", ".axis", ".mark", ".curve", ".band", ".point", ".ring", ".s0", ".s3"),
    *(".plot text", ".plot .mid", ".plot .end"),
)
_FONT = """\
text { font-family: system-ui, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif; }
.paper { fill: var(--paper); } .plot .title { fill: var(--ink); font-size: 14px; font-weight: 600; }
.c1 .s0 { --c: var(--s1); } .c2 .s0 { --c: var(--s2); }
"""


def panels(charts: Sequence[Chart], *, columns: int, panel_width: int) -> str:
    """Return an SVG picture with a panel for each chart, on its own paper, light or dark."""
    width = columns * panel_width + (columns - 1) * GAP + 2 * MARGIN
    legend = list(_legend(charts[0], width - 2 * MARGIN))
    top = MARGIN + ROW * (1 + max((row for _, row, _ in legend), default=-1))
    height = HEAD + charts[0].height
    total = top + -(-len(charts) // columns) * height + MARGIN
    title = " · ".join(dict.fromkeys(chart.title for chart in charts))
    drawn = [
        f'<g transform="translate({MARGIN + x:g} {MARGIN + row * ROW})">{sign}</g>'
        for x, row, sign in legend
    ]
    for index, chart in enumerate(charts):
        x = MARGIN + index % columns * (panel_width + GAP)
        y = top + index // columns * height
        drawn.append(_panel(chart, index, columns, x, y, panel_width))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {total}" '
        f'width="{width}" height="{total}" role="img" aria-label="{escape(title)}">'
        f'<style>{_css()}</style><defs>{_shapes()}</defs><rect class="paper" width="{width}" '
        f'height="{total}" rx="6"/><g class="plot">{"".join(drawn)}</g></svg>\n'
    )


def _panel(chart: Chart, index: int, columns: int, x: int, y: int, width: int) -> str:
    """Return a titled chart; curves that are alone take the colour of their column."""
    alone = f' class="c{index % columns % 3}"' if len(chart.series) == 1 else ""
    place = f' x="{x}" y="{y + HEAD}" width="{width}" height="{chart.height}"'
    ident = f"panel-{index}"
    return (
        f'<g{alone}><text class="title" x="{x + LEFT}" y="{y + 18}">{escape(chart.title)}</text>'
        f"{svg(chart, ident, width=width, place=place)}</g>"
    )


def _legend(chart: Chart, width: float) -> Iterator[tuple[float, int, str]]:
    """Yield the signs of the curves and marks with their places in rows as wide as ``width``."""
    x, row = 0.0, 0
    for sign, name in _signs(chart):
        length = 36 + _CHARACTER * len(name) + 18
        if x > 0 and x + length > width:
            x, row = 0.0, row + 1
        yield x, row, f'{sign}<text x="36" y="10">{escape(name)}</text>'
        x += length


def _signs(chart: Chart) -> Iterator[tuple[str, str]]:
    for index, series in enumerate(chart.series if len(chart.series) > 1 else ()):
        yield f'<path class="curve {style(index)}" d="M0 6H28"/>{point(index, 14, 6)}', series.name
    for label, on_curve in dict.fromkeys((m.label, m.on_curve) for m in chart.marks if m.label):
        ring = '<circle class="ring" cx="14" cy="6" r="4.5"/>'
        yield ring if on_curve else '<path class="mark" d="M14 -2V14"/>', label


def _shapes() -> str:
    return "".join(f'<path id="shape{i}" d="{path}"/>' for i, path in enumerate(SHAPES))


def _css() -> str:
    """Return the colours and the rules of the page that a picture needs."""
    css = files("rebatch.report").joinpath("page.css").read_text("utf-8")
    colours = css[: css.index("@media print")]
    rules = [line for line in css.splitlines() if line.startswith(_RULES)]
    text = colours + "\n".join(rules) + "\n" + _FONT
    return re.sub(r"\s+", " ", text)
