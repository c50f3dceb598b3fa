"""The page of results: a table and curves for every recipe that was run."""

from collections.abc import Sequence
from itertools import groupby, pairwise
from pathlib import Path
from statistics import mean
from typing import Any

from rebatch.report._chart import Chart, Mark, Series
from rebatch.report._page import Heading, Section, Text, page
from rebatch.report._published import find_published
from rebatch.report._runs import Group, headline, read_groups, spread
from rebatch.report._table import Cell, Table

WORDS = {
    "test_perplexity": "test perplexity",
    "test_accuracy": "test accuracy, %",
    "validation_accuracy": "validation accuracy, %",
}
COLUMNS = ("schedule", "final", "ensemble", "updates", "saved", "seeds")


def results_page(root: Path, title: str = "Results") -> str:
    """Return one self-contained page with the tables and curves of all runs below ``root``."""
    sections: list[Section | Sequence[Section]] = []
    for recipe, found in groupby(read_groups(root), key=lambda group: group.recipe):
        sections += recipe_sections(recipe, list(found))
    return page(title, sections)


def recipe_sections(recipe: str, groups: Sequence[Group]) -> list[Section | Sequence[Section]]:
    """Return heading, table and curves of one recipe."""
    metric = headline(groups)
    return [
        Heading(recipe),
        Text(verdict(groups, metric)),
        _table(recipe, groups, metric),
        [_curves(groups, metric, "update"), _curves(groups, metric, "epoch")],
        [_curves(groups, "train_loss", "epoch"), _sizes(groups)],
    ]


def _table(recipe: str, groups: Sequence[Group], metric: str) -> Table:
    rows = [
        [*row, _best_epoch(group, metric), spread(_training(group, metric))]
        for row, group in zip(table_rows(groups, metric), groups, strict=True)
    ]
    columns = [*COLUMNS, "best", "training"]
    papers = [_paper(group) for group in groups]
    if any(paper is not None for paper in papers):
        columns.append("paper")
        rows = [[*row, paper] for row, paper in zip(rows, papers, strict=True)]
    return Table(columns=columns, rows=rows, caption=f"{recipe}: {WORDS.get(metric, metric)}")


def table_rows(groups: Sequence[Group], metric: str) -> list[list[Any]]:
    """Return a line a schedule: figures over seeds, and updates against the baseline."""
    baseline = next((group for group in groups if group.schedule == "BL"), None)
    best = _best(groups, metric)
    rows = []
    for group in groups:
        final = spread(group.values("final", metric))
        saved = "" if baseline is None or group is baseline else _saved(group, baseline)
        rows.append(
            [
                group.name,
                Cell(final, "best", "the best final value") if group is best else final,
                spread(group.values("ensemble", metric)),
                group.updates,
                saved,
                len(group.runs),
            ]
        )
    return rows


def verdict(groups: Sequence[Group], metric: str) -> str:
    """Say in a sentence whether the best cycle beats the baseline, and by more than the spread."""
    baseline = next((group for group in groups if group.schedule == "BL"), None)
    others = [group for group in groups if group.schedule != "BL"]
    if baseline is None or not others:
        return ""
    best = _best(others, metric)
    finals = best.values("final", metric), baseline.values("final", metric)
    if not all(finals):
        return ""
    gain = mean(finals[0]) - mean(finals[1])
    gain = -gain if _falls(metric) else gain
    word = "better than" if gain >= 0.005 else "worse than" if gain <= -0.005 else "off"
    return (
        f"The best schedule here, {best.name}, is {abs(gain):.2f} {word} the baseline "
        f"({WORDS.get(metric, metric)}; {_certainty(finals[1])}) "
        f"with {100 * best.updates / baseline.updates:.0f} % of its updates."
    )


def _certainty(values: Sequence[float]) -> str:
    if len(values) == 1:
        return "one seed, so small differences mean nothing"
    return f"from seed to seed the baseline itself spreads {max(values) - min(values):.2f}"


def _falls(metric: str) -> bool:
    return metric.endswith(("perplexity", "loss"))


def _best(groups: Sequence[Group], metric: str) -> Group:
    sign = -1 if _falls(metric) else 1
    return max(
        groups, key=lambda group: sign * mean(group.values("final", metric) or [-sign * 1e9])
    )


def _saved(group: Group, baseline: Group) -> str:
    return f"{100 * (1 - group.updates / baseline.updates):.0f} %"


def _best_epoch(group: Group, metric: str) -> Cell:
    """Return the value at the best epoch, which is optimistic where the test set picks it."""
    text = spread(group.values("best", metric))
    if (group.runs[0].result.get("best") or {}).get("optimistic"):
        return Cell(text, "quiet", "optimistic: the epoch is picked by the test set")
    return Cell(text)


def _paper(group: Group) -> float | None:
    """Return the figure that the paper prints for this very case."""
    cell = find_published(group)
    return None if cell is None else cell.value


def _training(group: Group, metric: str) -> list[float]:
    """Return the same figure on the training data, over the last epoch as it was trained."""
    return group.values("final", f"train_{metric.rpartition('_')[2]}")


def _curves(groups: Sequence[Group], metric: str, against: str) -> Chart:
    word = WORDS.get(metric, metric.replace("_", " "))
    return Chart(
        title=f"{word.capitalize()} by {against}",
        x_label=f"{against}s" if against == "update" else "epochs finished",
        y_label=word,
        series=[_series(group, metric, against) for group in groups],
        marks=_cycle_marks(groups, against),
        skip=0.1,
    )


def _series(group: Group, metric: str, against: str) -> Series:
    """Return the mean over seeds with the range between the lowest and the highest."""
    lines = [run.epochs for run in group.runs]
    columns = list(zip(*lines, strict=False))
    values = [[line.get(metric) for line in column] for column in columns]
    known = [[value for value in column if value is not None] for column in values]
    return Series(
        name=group.name,
        x=[
            column[0]["update"] if against == "update" else column[0]["epoch"] + 1
            for column in columns
        ],
        y=[mean(column) if column else None for column in known],
        low=[min(column, default=None) for column in known],
        high=[max(column, default=None) for column in known],
    )


def _cycle_marks(groups: Sequence[Group], against: str) -> list[Mark]:
    marks = []
    for group in groups:
        lines = group.runs[0].epochs
        for before, after in pairwise(lines):
            if after["cycle"] != before["cycle"]:
                at = before["update"] if against == "update" else before["epoch"] + 1
                marks.append(Mark(at=at, label="cycle ends", series=group.name))
    return marks


def _sizes(groups: Sequence[Group]) -> Chart:
    return Chart(
        title="Batch size by epoch",
        x_label="epoch",
        y_label="batch size",
        series=[_stairs(group) for group in groups],
        log=True,
    )


def _stairs(group: Group) -> Series:
    """Return the sizes with both edges of the last epoch."""
    lines = group.runs[0].epochs
    sizes = [line["batch_size"] for line in lines]
    edges = [*(line["epoch"] for line in lines), *(line["epoch"] + 1 for line in lines[-1:])]
    return Series(name=group.name, x=edges, y=[*sizes, *sizes[-1:]], step=True)
