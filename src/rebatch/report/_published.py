"""The figures that the paper prints (Mu et al., 2018), one record a cell."""

import json
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
    """``final``, or ``ensemble``."""
    metric: str
    value: float
    updates: int | None = None
    train_accuracy: float | None = None
    best_test_perplexity: float | None = None


@cache
def published() -> tuple[Published, ...]:
    """Return every figure, in the order of the paper's tables."""
    text = files("rebatch.report").joinpath("published.json").read_text("utf-8")
    return tuple(Published(**record) for record in json.loads(text))


def find_published(group: Group, part: str = "final") -> Published | None:
    """Return the paper's figure for a group of runs, if it is one of the paper's own cases."""
    if group.overrides:
        return None
    wanted = (group.recipe, group.schedule, group.variant, part)
    return next(
        (cell for cell in published() if _key(cell) == wanted),
        None,
    )


def _key(cell: Published) -> tuple[str, str, str | None, str]:
    return cell.recipe, cell.schedule, cell.variant, cell.part
