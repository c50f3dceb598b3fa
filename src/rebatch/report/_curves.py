"""Curves of runs: figures and batch sizes by update and by epoch, with cycles and decisions."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from statistics import mean

from rebatch.report._chart import Chart, Mark, Series
from rebatch.report._decisions import decision_marks, names
from rebatch.report._runs import Group, Run

WORDS = {
    "test_perplexity": "test perplexity",
    "test_accuracy": "test accuracy, %",
    "validation_accuracy": "validation accuracy, %",
    "train_accuracy": "training accuracy, %",
    "train_perplexity": "training perplexity",
    "train_loss": "training loss",
}
SEEDS = 2
"""Runs of a schedule that adapts which are drawn: each has a curve of its own."""
LABELS = {"update": "updates", "epoch": "epochs"}


def charts(groups: Sequence[Group], metric: str) -> list[list[Chart]]:
    """Return pairs of charts, by update and by epoch: the figure, its training, the sizes."""
    training = "train_perplexity" if metric.endswith("perplexity") else "train_loss"
    pairs = [[curves(groups, name, by) for by in LABELS] for name in (metric, training)]
    return [*pairs, [sizes(groups, by) for by in LABELS]]


def curves(groups: Sequence[Group], metric: str, against: str) -> Chart:
    """Return a figure of all groups over updates or epochs."""
    word = WORDS.get(metric, metric.replace("_", " "))
    return Chart(
        title=f"{word.capitalize()} by {against}",
        x_label=LABELS[against],
        y_label=word,
        series=[_series(name, runs, metric, against) for name, runs in _drawn(groups)],
        marks=list(_marks(groups, against)),
        skip=0.2,
    )


def sizes(groups: Sequence[Group], against: str) -> Chart:
    """Return the batch sizes of all groups over updates or epochs."""
    return Chart(
        title=f"Batch size by {against}",
        x_label=LABELS[against],
        y_label="batch size",
        series=[_stairs(name, runs[0], against) for name, runs in _drawn(groups)],
        marks=[mark for mark in _marks(groups, against) if mark.on_curve],
        log=True,
    )


def left_out(groups: Sequence[Group]) -> str:
    """Say which runs have no curve: more of them than this would hide each other."""
    few = f"the first {SEEDS} seeds"
    crowded = any(len(names(group)) > SEEDS for group in groups)
    return f"Of a schedule that adapts the curves show {few}." if crowded else ""


def _drawn(groups: Sequence[Group]) -> Iterator[tuple[str, tuple[Run, ...]]]:
    return (drawn for group in groups for drawn in names(group)[:SEEDS])


def _at(line: dict[str, float], against: str) -> float:
    return line["update"] if against == "update" else line["epoch"] + 1


def _series(name: str, runs: Sequence[Run], metric: str, against: str) -> Series:
    """Return the mean over seeds with the range between the lowest and the highest."""
    columns = list(zip(*(run.epochs for run in runs), strict=False))
    values = [[line.get(metric) for line in column] for column in columns]
    known = [[value for value in column if value is not None] for column in values]
    several = len(runs) > 1
    return Series(
        name=name,
        x=[_at(column[0], against) for column in columns],
        y=[mean(column) if column else None for column in known],
        low=[min(column, default=None) for column in known] if several else None,
        high=[max(column, default=None) for column in known] if several else None,
    )


def _marks(groups: Sequence[Group], against: str) -> Iterator[Mark]:
    for name, runs in _drawn(groups):
        for before, after in pairwise(runs[0].epochs):
            if after["cycle"] != before["cycle"]:
                yield Mark(at=_at(before, against), label="cycle ends", series=name)
        yield from decision_marks(runs[0], name, against)


def _stairs(name: str, run: Run, against: str) -> Series:
    """Return the sizes with both edges of the last epoch."""
    heights = [line["batch_size"] for line in run.epochs]
    edges = [0, *(_at(line, against) for line in run.epochs)] if heights else []
    return Series(name=name, x=edges, y=[*heights, *heights[-1:]], step=True)
