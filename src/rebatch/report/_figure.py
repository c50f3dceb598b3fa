"""Plans as a picture for paper or a README, drawn by matplotlib."""

import io
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from rebatch._plan import Plan
from rebatch.errors import RunError
from rebatch.report._scale import doubling_ticks, short
from rebatch.report._stairs import Stairs, stairs, unit_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = ("#0072b2", "#d55e00", "#008a63")
_INK, SOFT, LINE = "#1b2027", "#55606c", "#d3d9e0"
_STYLE: dict[Any, object] = {
    "font.family": "DejaVu Sans",  # comes with matplotlib, so every machine draws the same
    "font.size": 10,
    "text.color": _INK,
    "axes.edgecolor": SOFT,
    "axes.labelcolor": SOFT,
    "xtick.color": SOFT,
    "ytick.color": SOFT,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "svg.hashsalt": "rebatch",
}


def picture(plans: Sequence[Plan], form: str) -> bytes:
    """Return a picture of the plans as ``png`` or ``svg``: a panel each, on the same axes."""
    return drawn(lambda: _figure(plans), form)


def drawn(make: Callable[[], "Figure"], form: str) -> bytes:
    """Return a figure as ``png`` or ``svg``, in the style of all our pictures."""
    try:
        from matplotlib import rc_context
    except ImportError:
        raise RunError("a picture needs matplotlib: pip install 'rebatch[plot]'") from None
    out = io.BytesIO()
    with rc_context(_STYLE):
        figure = make()
        # No date in an SVG: the same figure gives the same file.
        figure.savefig(out, format=form, dpi=150, metadata={"Date": None} if form == "svg" else {})
    return out.getvalue()


def _figure(plans: Sequence[Plan]) -> "Figure":
    from matplotlib.figure import Figure

    unit = unit_of(plans)
    every = [stairs(plan, unit) for plan in plans]
    columns = {1: 1, 2: 2, 4: 2}.get(len(plans), 3)
    rows = math.ceil(len(plans) / columns)
    size = (8.0, 3.2) if columns == 1 else (3.4 * columns, 2.1 * rows + 0.35)
    figure = Figure(figsize=size)
    figure.set_layout_engine("constrained", w_pad=0.1)
    axes = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    panels = list(axes.flat)
    _set_scales(panels[0], every)
    for index, (panel, drawn) in enumerate(zip(panels, every, strict=False)):
        _draw(panel, drawn, COLOURS[index % columns])
    for panel in panels[len(plans) :]:
        panel.set_visible(False)
    figure.supxlabel(unit, color=SOFT, fontsize="medium")
    figure.supylabel("batch size", color=SOFT, fontsize="medium")
    return figure


def _set_scales(panel: "Axes", every: Sequence[Stairs]) -> None:
    low, high = min(drawn.low for drawn in every), max(drawn.high for drawn in every)
    panel.set_yscale("log", base=2)
    panel.set_ylim(low / 1.5, high * 1.5)
    ticks = doubling_ticks(low, low, high, count=7)
    panel.set_yticks(ticks, labels=[short(tick) for tick in ticks], minor=False)
    panel.set_xlim(0, max(drawn.total for drawn in every))
    panel.xaxis.set_major_formatter(lambda value, _: short(value))


def _draw(panel: "Axes", drawn: Stairs, colour: str) -> None:
    panel.set_title(drawn.name, loc="left", fontweight="bold", fontsize="medium")
    panel.grid(axis="y", color=LINE, linewidth=0.6)
    panel.set_axisbelow(True)
    height = panel.get_xaxis_transform()
    dots = (0, (1, 3))
    panel.vlines(drawn.ends, 0, 1, SOFT, dots, linewidth=0.7, transform=height, zorder=0.6)
    floor = panel.get_ylim()[0]
    panel.stairs(drawn.sizes, drawn.edges, baseline=floor, fill=True, color=colour, alpha=0.14)
    panel.stairs(drawn.sizes, drawn.edges, baseline=None, color=colour, linewidth=1.8)
