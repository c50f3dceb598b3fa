"""Which runs fill the cells of the paper's tables, and draw its figures."""

from collections.abc import Iterable
from typing import NamedTuple

from rebatch.sweeps._identity import Identity


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


def run_of(cell: PaperCell, seed: int, overrides: Iterable[str] = ()) -> Identity:
    """Return the run that gives a cell its figure.

    >>> run_of(PaperCell("l2-ptb", "BL", "snapshots-as-CBS-1-T", "ensemble"), 0).label
    'l2-ptb BL snapshots-as-CBS-1-T seed 0'
    """
    return Identity(cell.recipe, cell.schedule, seed, cell.variant, tuple(overrides))
