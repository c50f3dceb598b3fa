"""The figures that the paper prints (Mu et al., 2018), one record a cell."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from rebatch.report._runs import Group


@dataclass(frozen=True, kw_only=True)
class Published:
    """A cell of a table of the paper, by the names this project gives its parts."""

    table: str
    recipe: str
    schedule: str
    variant: str | None
    part: str
    """``final``, ``ensemble``, or ``best_on_test``."""
    metric: str
    value: float | None = None
    """What the paper prints; nothing for a control, which it does not have."""
    updates: int | None = None
    train_accuracy: float | None = None
    best_test_perplexity: float | None = None
    beside: str | None = None
    """For a control: the schedule of the cell that it stands beside."""

    def found_in(self, groups: Sequence[Group]) -> Group | None:
        """Return the runs that fill the cell: its own, or others that train in the same way."""
        same = [g for g in groups if (g.recipe, g.schedule) == (self.recipe, self.schedule)]
        whole = [g for g in same if not g.overrides]
        exact = (g for g in whole if g.variant == self.variant)
        alike = (g for g in whole if trained_as(g.variant) == trained_as(self.variant))
        return next(exact, None if self.part == "ensemble" else next(alike, None))


def trained_as(variant: str | None) -> str | None:
    """Return the variant, or nothing for one that only says when snapshots are taken.

    >>> trained_as("snapshots-as-CBS-5"), trained_as("step-snapshots"), trained_as("plateau")
    (None, None, 'plateau')
    """
    snapshots = variant and (variant == "step-snapshots" or variant.startswith("snapshots-as-"))
    return None if snapshots else variant


@cache
def published() -> tuple[Published, ...]:
    """Return every figure, in the order of the paper's tables."""
    text = files("rebatch.report").joinpath("published.json").read_text("utf-8")
    return tuple(Published(**record) for record in json.loads(text))


@cache
def tables() -> tuple[str, ...]:
    """Return the names of the paper's tables."""
    return tuple(dict.fromkeys(cell.table for cell in published()))
