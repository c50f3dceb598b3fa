"""A chart as HTML: legend, drawing, the data for the script, and the data for people."""

import re
from collections.abc import Iterator
from dataclasses import asdict
from html import escape
from typing import Any

from rebatch.report._chart import SHAPES, Chart, Series
from rebatch.report._scale import drawable
from rebatch.report._svg import point, style, svg
from rebatch.report._table import Table
from rebatch.report._values import Value, csv_link, csv_text, json_block

MOST_ROWS = 200
"""A longer table of a chart's data shows every so-manieth row; its CSV has them all."""
_LINE = '<path class="mark" d="M6 0V16"/>'
_HINT = "Arrow keys read the values, + and − zoom, 0 shows all."


def chart_html(chart: Chart, ident: str) -> str:
    """Return the figure that the page shows for a chart."""
    names = f"{ident}-name"
    return (
        f'<figure class="chart" id="{ident}">'
        f'<figcaption id="{names}">{escape(chart.title)}</figcaption>'
        f'<div class="legend">{"".join(_legend(chart))}</div>'
        f'<div class="y-label">{escape(chart.y_label)}</div>'
        f'<div class="plot" tabindex="0" role="group" aria-labelledby="{names}" '
        f'aria-describedby="{ident}-hint">{svg(chart, ident)}</div>'
        f'<p class="hidden" id="{ident}-hint">{_HINT}</p>'
        f'<output class="hidden" aria-live="polite"></output>'
        f"{_data_table(chart)}"
        f'<script type="application/json">{json_block(_data(chart))}</script>'
        "</figure>"
    )


def shapes_html() -> str:
    """Return the shapes that the curves of all charts refer to."""
    paths = "".join(f'<path id="shape{i}" d="{path}"/>' for i, path in enumerate(SHAPES))
    return f'<svg class="hidden" aria-hidden="true"><defs>{paths}</defs></svg>'


def _legend(chart: Chart) -> Iterator[str]:
    several = len(chart.series) > 1
    for index, series in enumerate(chart.series if several else ()):
        yield (
            f'<button type="button" aria-pressed="true" data-series="{index}">'
            f'<svg viewBox="0 0 28 12" width="28" height="12" aria-hidden="true">'
            f'<path class="curve {style(index)}" d="M0 6H28"/>{point(index, 14, 6)}</svg>'
            f"<span>{escape(series.name)}</span></button>"
        )
    for label, on_curve in dict.fromkeys((m.label, m.on_curve) for m in chart.marks if m.label):
        sign = '<circle class="ring" cx="6" cy="8" r="4.5"/>' if on_curve else _LINE
        yield (
            '<span class="key"><svg viewBox="0 0 12 16" width="12" height="16" aria-hidden="true">'
            f"{sign}</svg><span>{escape(label)}</span></span>"
        )


def _data(chart: Chart) -> dict[str, Any]:
    return {
        "title": chart.title,
        "description": chart.describe(),
        "xLabel": chart.x_label,
        "log": chart.log,
        "room": chart.room,
        "height": chart.height,
        "smallest": chart.smallest,
        "xRange": chart.ranges[0],
        "yRange": chart.ranges[1] if chart.fixed else None,
        "series": [_series(series) for series in chart.series],
        "marks": [asdict(mark) for mark in chart.marks],
        "fewLines": chart.has_few_lines,
    }


def _series(series: Series) -> dict[str, Any]:
    values = {"y": series.y, "low": series.low, "high": series.high}
    known = {
        name: [value if drawable(value) else None for value in column]
        for name, column in values.items()
        if column is not None
    }
    return {"name": series.name, "step": series.step, "x": list(series.x), **known}


def _data_table(chart: Chart) -> str:
    columns, rows = _columns(chart)
    every = -(-len(rows) // MOST_ROWS) or 1
    shown = rows[::every]
    caption = "" if every == 1 else f"One row in {every}; the CSV has all {len(rows):,}."
    name = re.sub(r"\W+", "-", chart.title.lower()).strip("-") or "chart"
    link = csv_link(f"{name}.csv", csv_text(columns, rows), "CSV")
    table = Table(columns=columns, rows=shown, caption=caption, download=False).html()
    return f"<details><summary>Data</summary>{table}{link}</details>"


def _columns(chart: Chart) -> tuple[list[str], list[list[Value]]]:
    """Return the data as one table: a row for each x, an empty cell where a series has none."""
    columns, values = [chart.x_label], []
    for series in chart.series:
        for suffix, ys in (("", series.y), (" low", series.low), (" high", series.high)):
            if ys is not None:
                columns.append(series.name + suffix)
                values.append(dict(zip(series.x, ys, strict=True)))
    xs = sorted({x for series in chart.series for x in series.x})
    return columns, [[x, *(column.get(x) for column in values)] for x in xs]
