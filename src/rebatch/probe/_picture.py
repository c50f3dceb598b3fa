"""A probe as a picture: the loss that each batch size reached."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rebatch.probe._text import epochs
from rebatch.probe._verdict import Verdict
from rebatch.report._figure import COLOURS, LINE, SOFT, drawn
from rebatch.report._scale import short

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLUE, ORANGE, GREEN = COLOURS
STEEP = 3
"""Losses that differ by more than this factor are drawn on a logarithmic axis."""


def picture(verdict: Verdict, form: str) -> bytes:
    """Return the losses over the batch sizes as ``png`` or ``svg``, the free ones shaded."""
    return drawn(lambda: _figure(verdict), form)


def _figure(verdict: Verdict) -> "Figure":
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.2, 4.2))
    figure.set_layout_engine("constrained", w_pad=0.1)
    panel = figure.subplots()
    _set_scales(panel, verdict)
    _draw_region(panel, verdict)
    _draw_losses(panel, verdict)
    panel.set_title(_title(verdict), loc="left", fontweight="bold", fontsize="medium")
    figure.legend(frameon=False, fontsize="small", loc="outside lower center", ncols=3)
    return figure


def _title(verdict: Verdict) -> str:
    design = verdict.design
    where = f"{design.recipe.name}, after {epochs(design.warm_up)}"
    if verdict.critical == design.base:
        return f"{where}: no doubling is free"
    more = "" if verdict.is_bound else " and more"
    return f"{where}: doubling is free up to {verdict.critical:,}{more}"


def _set_scales(panel: "Axes", verdict: Verdict) -> None:
    from matplotlib.ticker import LogLocator

    sizes = verdict.design.sizes
    panel.set_xscale("log", base=2)
    panel.set_xlim(sizes[0] / 1.4, sizes[-1] * 1.4)
    panel.set_xticks(sizes, labels=[short(size) for size in sizes], minor=False)
    panel.set_xlabel("batch size")
    losses = _every_loss(verdict)
    if losses and 0 < STEEP * min(losses) < max(losses):
        panel.set_yscale("log", base=10, subs=())
        panel.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        panel.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    panel.set_ylabel("training loss of the branch")
    panel.grid(axis="y", color=LINE, linewidth=0.6)
    panel.set_axisbelow(True)


def _draw_region(panel: "Axes", verdict: Verdict) -> None:
    """Shade what is free, half a doubling beyond it, and mark what gauges say."""
    left, right = panel.get_xlim()
    edge = verdict.critical * math.sqrt(2) if verdict.is_bound else right
    panel.axvspan(left, edge, color=GREEN, alpha=0.12, linewidth=0, label="doubling is free")
    base = verdict.levels[0].loss
    if base is not None:
        limit = base + verdict.tolerance
        panel.axhline(limit, color=SOFT, linewidth=0.9, linestyle=(0, (4, 3)), label="tolerance")
    scale = verdict.noise_scale
    if scale is not None and left < scale < right:
        label = f"gradient noise scale, {scale:,.0f}"
        panel.axvline(scale, color=ORANGE, linewidth=1.2, linestyle=(0, (1, 2)), label=label)


def _draw_losses(panel: "Axes", verdict: Verdict) -> None:
    levels = verdict.levels
    points = [(level.batch_size, loss) for level in levels for loss in level.losses]
    known = [(size, loss) for size, loss in points if loss is not None]
    panel.plot(*_columns(known), "o", color=BLUE, markersize=4, alpha=0.55, label="a branch")
    means = [(level.batch_size, level.loss) for level in levels if level.loss is not None]
    panel.plot(*_columns(means), color=BLUE, linewidth=1.8, label="their mean")
    lost = [level.batch_size for level in levels if None in level.losses]
    top = [0.97] * len(lost)
    place = panel.get_xaxis_transform()
    if lost:
        panel.plot(lost, top, "x", color=ORANGE, transform=place, label="lost its numbers")


def _columns(points: Sequence[tuple[float, float]]) -> tuple[list[float], list[float]]:
    return [x for x, _ in points], [y for _, y in points]


def _every_loss(verdict: Verdict) -> list[float]:
    return [loss for level in verdict.levels for loss in level.losses if loss is not None]
