"""Ours beside the paper's: each figure of a table, run or not, and whether the two differ."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import sqrt
from statistics import mean, stdev

from rebatch.report._controls import controls
from rebatch.report._published import Published, published, tables
from rebatch.report._runs import Group, saved, saving, spread
from rebatch.report._values import written

COLUMNS = (
    *("schedule", "ours", "paper", "difference", "seeds"),
    *("updates", "paper's updates", "saved", "wall-clock"),
)
PERPLEXITY, ACCURACY = 1.0, 0.6
RULE = (
    "Ours is the mean over seeds, ± their standard deviation s. A difference stands out where it "
    "is larger than 2 s √(1 + 1/n) with n seeds: the paper's figure is a single run. One seed has "
    f"no spread: there it stands out above {PERPLEXITY:g} of perplexity or {ACCURACY:g} points of "
    "accuracy, which is a rule of thumb. Updates saved are counted against the baseline of the "
    "same column; wall-clock is the mean of whole runs on one kind of device, judging and saving "
    'included, which may have shared it; "graphs" are whole updates as CUDA graphs.'
)
NOT_RUN, NO_ENSEMBLE = "not run", "one member"


@dataclass(frozen=True)
class Line:
    """A figure of the paper, or a control beside it, with the runs that give ours."""

    cell: Published
    group: Group | None
    baseline: Group | None

    @property
    def values(self) -> list[float]:
        """Our figure of every seed."""
        return self.group.values(self.cell.part, self.cell.metric) if self.group else []

    @property
    def updates(self) -> int | None:
        """Our updates, where there is a figure of ours."""
        return self.group.updates if self.group and self.values else None

    @property
    def is_own(self) -> bool:
        """Whether the runs are those of this very cell, not others that train in the same way."""
        group = self.group if self.values else None
        return group is not None and group.variant == self.cell.variant

    @property
    def is_alone(self) -> bool:
        """Whether the runs of an ensemble were made, but hold one snapshot of it alone."""
        return self.cell.part == "ensemble" and self.group is not None and not self.values

    @property
    def difference(self) -> float | None:
        """Ours less the paper's, where both are there."""
        if self.cell.value is None or not self.values:
            return None
        return mean(self.values) - self.cell.value

    @property
    def differs(self) -> bool:
        """Whether the difference is larger than the spread over seeds explains."""
        off = self.difference
        return off is not None and abs(off) > allowance(self.values, self.cell.metric)

    @property
    def is_extra(self) -> bool:
        """Whether the paper asks nothing here: an ensemble that a run gives beside its figure."""
        return self.cell.value is None and self.cell.beside is None

    @property
    def name(self) -> str:
        """The schedule, with what is special about this figure of it."""
        cell = self.cell
        part = {"ensemble": "ensemble", "best_on_test": "best epoch on test"}.get(cell.part)
        training = "training accuracy" if cell.metric == "train_accuracy" else None
        schedule = None if cell.schedule == cell.beside else cell.schedule
        said = ", ".join(text for text in (schedule, cell.variant, part, training) if text)
        return f"control: {said}" if cell.beside else said

    @property
    def saving(self) -> float | None:
        """Updates saved against the baseline, in per cent, where there is a figure of ours."""
        return saving(self.group, self.baseline) if self.group and self.values else None

    def texts(self) -> list[str]:
        """Return the cells of a table with the `COLUMNS`."""
        cell, ran = self.cell, self.group if self.values else None
        off = self.difference
        return [
            self.name,
            spread(self.values) if ran else NO_ENSEMBLE if self.is_alone else NOT_RUN,
            "" if cell.value is None else str(cell.value),
            "" if off is None else f"{off:+.2f}".replace("-", "−"),
            "" if ran is None else seeds(len(self.values)),
            written(self.updates),
            written(cell.updates),
            saved(ran, self.baseline) if ran else "",
            ran.time if ran else "",
        ]


def allowance(values: Sequence[float], metric: str) -> float:
    """Return the largest difference that the spread over seeds may explain: see `RULE`.

    >>> allowance([80.0], "test_perplexity"), round(allowance([80, 81, 82], "test_perplexity"), 2)
    (1.0, 2.31)
    """
    count = len(values)
    if count > 1:
        return 2 * stdev(values) * sqrt(1 + 1 / count)
    return PERPLEXITY if metric.endswith("perplexity") else ACCURACY


def seeds(count: int) -> str:
    """Say how many seeds there are, and where there is no spread."""
    return "one seed" if count == 1 else f"{count}"


def columns_of(table: str, groups: Sequence[Group]) -> dict[str, list[Line]]:
    """Return a line for each figure of a table by its recipe, controls beside their cells."""
    found: dict[str, list[Line]] = {}
    for cell in (cell for cell in published() if cell.table == table):
        baseline = _baseline(cell.recipe, groups)
        made = (Line(figure, figure.found_in(groups), baseline) for figure in _figures(cell))
        column = found.setdefault(cell.recipe, [])
        column += [line for line in made if line.values or not line.is_extra]
    for recipe, column in found.items():
        if table == next(cell.table for cell in published() if cell.recipe == recipe):
            column += _others(column[0], groups)
    return found


def _others(first: Line, groups: Sequence[Group]) -> Iterator[Line]:
    """Yield schedules that the paper does not have, such as adaptive ones, below their column."""
    recipe = first.cell.recipe
    theirs = {cell.schedule for cell in published() if cell.recipe == recipe}
    for group in groups:
        if group.recipe == recipe and group.is_plain and group.schedule not in theirs:
            cell = replace(first.cell, schedule=group.schedule, value=None, updates=None)
            for part in ("final", "ensemble"):
                line = Line(replace(cell, part=part), group, first.baseline)
                if line.values or part == "final":
                    yield line


def _figures(cell: Published) -> Iterator[Published]:
    """Yield the cell, what the paper prints beside it, its ensemble and its controls."""
    yield cell
    plain = replace(cell, updates=None)
    if cell.part == "final" and not _has_ensemble(cell):
        yield replace(plain, part="ensemble", value=None)
    if cell.best_test_perplexity is not None:
        yield replace(plain, part="best_on_test", value=cell.best_test_perplexity)
    if cell.train_accuracy is not None:
        yield replace(plain, metric="train_accuracy", value=cell.train_accuracy)
    here = (cell.recipe, cell.schedule)
    if cell is _last_of(cell):
        yield from (c for c in controls(cell.table) if (c.recipe, c.beside) == here)


def _has_ensemble(cell: Published) -> bool:
    """Say whether the paper prints an ensemble of the same runs, in whatever table."""
    key = (cell.recipe, cell.schedule, cell.variant, "ensemble")
    return any((c.recipe, c.schedule, c.variant, c.part) == key for c in published())


def _last_of(cell: Published) -> Published:
    """Return the last of the cells that share a column and a schedule: controls come after it."""
    key = (cell.table, cell.recipe, cell.schedule)
    return [c for c in published() if (c.table, c.recipe, c.schedule) == key][-1]


def _baseline(recipe: str, groups: Sequence[Group]) -> Group | None:
    cell = Published(table="", recipe=recipe, schedule="BL", variant=None, part="final", metric="")
    return cell.found_in(groups)


def is_in_a_table(group: Group) -> bool:
    """Say whether a group stands in a table: as a figure, a control or a further schedule."""
    beside = (control for table in tables() for control in controls(table))
    known = any(cell.found_in([group]) for cell in (*published(), *beside))
    return known or (group.is_plain and group.recipe in {cell.recipe for cell in published()})
