"""Which runs fill the cells of the paper's tables, and which controls stand beside them."""

from collections.abc import Iterable
from typing import NamedTuple

from rebatch.recipes._case import SNAPSHOTS_AS
from rebatch.sweeps._identity import Identity

LANGUAGE = ("l1-ptb", "l1-wikitext2", "l2-ptb", "l2-wikitext2")


class PaperCell(NamedTuple):
    """A figure that the paper prints, or a curve that it draws."""

    recipe: str
    schedule: str
    variant: str | None = None
    part: str = "final"


FIGURES = (
    PaperCell("l2-ptb", "BL"),
    PaperCell("l2-ptb", "CBS-1-T"),
    PaperCell("l2-wikitext2", "BL"),
    PaperCell("l2-wikitext2", "CBS-1"),
    PaperCell("l2p-ptb", "BL"),
    PaperCell("l2p-ptb", "CBS-1-A"),
    PaperCell("c2-cifar10", "BL"),
    PaperCell("c2-cifar10", "CBS-10-3"),
    PaperCell("i1-imagenet", "BL"),
    PaperCell("i1-imagenet", "CBS-10-3"),
)
"""The baseline and the best cycle of every network whose curves the paper draws."""

SNAPSHOTS_OF_BASELINE = {
    "l1-ptb": "CBS-5",
    "l1-wikitext2": "CBS-5",
    "l2-ptb": "CBS-1-T",
    "l2-wikitext2": "CBS-1",
}
"""Where a baseline, which has no cycles, takes its snapshots: as the cycles of its column do.

L1 on Penn Treebank is the exception: the paper's CBS-10-A has cycles of 40 epochs and trains for
39, so none ends; its own snapshots are taken at the ends of its steps.
"""

CONTROLS: dict[str, tuple[PaperCell, ...]] = {
    "language": tuple(
        PaperCell(recipe, schedule, variant)
        for recipe in LANGUAGE
        for schedule, variant in (
            ("BL", "base-batch"),
            ("BL", "plateau"),
            ("CBS-10", "equal-noise"),
            ("CBS-10", "equal-updates"),
        )
    ),
    "cifar10": tuple(
        PaperCell(recipe, schedule, variant)
        for recipe, schedule in (
            ("c1-cifar10", "CBS-5-3"),
            ("c2-cifar10", "CBS-15"),
            ("c3-cifar10", "CBS-15-2"),
        )
        for variant in ("base-batch", "equal-noise", "equal-updates", "whole-batch-norm")
    ),
    "initialization": (
        PaperCell("c1-initialization", "BL", "constant-rate"),
        PaperCell("c1-initialization", "BL", "divided-at-75"),
    ),
    "ensemble-language": (PaperCell("l1-ptb", "CBS-5", None, "ensemble"),),
    "ensemble-cifar10": (PaperCell("c3-cifar10", "BL", f"{SNAPSHOTS_AS}CBS-15-2", "ensemble"),),
    "imagenet-ensemble": (PaperCell("i1-imagenet", "BL", f"{SNAPSHOTS_AS}CBS-10-3", "ensemble"),),
}
"""What tells the cycle apart from its smaller batch, its rate and its number of updates."""


def run_of(cell: PaperCell, seed: int, overrides: Iterable[str] = ()) -> Identity:
    """Return the run that gives a cell its figure.

    >>> run_of(PaperCell("l2-ptb", "BL", None, "ensemble"), 0).label
    'l2-ptb BL snapshots-as-CBS-1-T seed 0'
    """
    return Identity(cell.recipe, cell.schedule, seed, _variant(cell), tuple(overrides))


def _variant(cell: PaperCell) -> str | None:
    if cell.part != "ensemble" or cell.variant is not None:
        return cell.variant
    if cell.schedule == "BL":
        return f"{SNAPSHOTS_AS}{SNAPSHOTS_OF_BASELINE[cell.recipe]}"
    return "step-snapshots" if (cell.recipe, cell.schedule) == ("l1-ptb", "CBS-10-A") else None
