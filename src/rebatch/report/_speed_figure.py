"""Measured speeds as a picture: updates a second against the batch size, under the roofline."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rebatch.report._figure import _INK, COLOURS, LINE, SOFT, drawn
from rebatch.report._scale import short
from rebatch.report._speed import Record, loop_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.ticker import Locator

LOOKS = {
    "ours": ("rebatch", COLOURS[0], "-", "o"),
    "ours_resident": ("rebatch, data on the device", COLOURS[0], "--", "o"),
    "plain": ("plain loop", COLOURS[1], "-", "s"),
    "plain_resident": ("plain loop, data on the device", COLOURS[1], "--", "^"),
    "plain_bf16": ("plain loop, bf16", COLOURS[2], "-", "D"),
}
"""Name, colour, line and marker of each loop."""


def speed_picture(record: Record, form: str) -> bytes:
    """Return the picture as ``png`` or ``svg``: a panel a model, both axes in doublings."""
    return drawn(lambda: _figure(record), form)


def _figure(record: Record) -> "Figure":
    from matplotlib.figure import Figure

    models = list(dict.fromkeys(cell["model"] for cell in record["cells"]))
    columns = min(len(models), 4)
    rows = math.ceil(len(models) / columns)
    figure = Figure(figsize=(max(3.0 * columns, 6.4), 2.7 * rows + 1.0))
    figure.set_layout_engine("constrained", w_pad=0.1)
    panels = list(figure.subplots(rows, columns, squeeze=False).flat)
    for panel, model in zip(panels, models, strict=False):
        _draw(panel, model, [cell for cell in record["cells"] if cell["model"] == model])
    for panel in panels[len(models) :]:
        panel.set_visible(False)
    known = {
        label: line
        for panel in panels
        for line, label in zip(*panel.get_legend_handles_labels(), strict=True)
    }
    figure.legend(known.values(), known.keys(), loc="outside upper left", ncols=3, frameon=False)
    figure.supxlabel("batch size", color=SOFT, fontsize="medium")
    figure.supylabel("updates a second", color=SOFT, fontsize="medium")
    return figure


def _draw(panel: "Axes", model: str, cells: Sequence[Record]) -> None:
    cells = sorted(cells, key=lambda cell: int(cell["batch_size"]))
    sizes = [cell["batch_size"] for cell in cells]
    panel.set_title(model, loc="left", fontweight="bold", fontsize="medium")
    panel.set_xscale("log", base=2)
    panel.set_yscale("log")
    panel.set_xticks(sizes, labels=[short(size) for size in sizes], minor=False)
    panel.minorticks_off()
    panel.yaxis.set_major_locator(_round_places(cells))
    panel.yaxis.set_major_formatter(lambda value, _: short(value))
    panel.margins(x=0.1, y=0.12)
    panel.grid(axis="y", color=LINE, linewidth=0.6)
    panel.set_axisbelow(True)
    limits = [cell["limit"] for cell in cells]
    panel.plot(sizes, limits, ":", color=_INK, marker="_", label="roofline", linewidth=1.2)
    for name in loop_names(cells):
        label, colour, line, marker = LOOKS[name]
        speeds = [cell["updates_per_second"].get(name) for cell in cells]
        panel.plot(sizes, speeds, line, color=colour, marker=marker, markersize=4, label=label)


def _round_places(cells: Sequence[Record]) -> "Locator":
    """Label 1, 2 and 5 in every power of ten, or over many powers those alone."""
    from matplotlib.ticker import LogLocator

    values = [value for cell in cells for value in cell["updates_per_second"].values()]
    spread = max(cell["limit"] for cell in cells) / min(values)
    return LogLocator(base=10, subs=(1, 2, 5) if spread < 200 else (1,))
