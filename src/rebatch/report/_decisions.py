"""Decisions of adaptive runs: marks on their curves, and tables of when, why and on what."""

from collections.abc import Iterator, Sequence
from typing import Any

from rebatch.report._chart import Mark
from rebatch.report._page import Download
from rebatch.report._runs import Group, Run
from rebatch.report._table import Table
from rebatch.report._values import Value, csv_text, written

COLUMNS = (
    *("run", "after epoch", "after update", "batch size", "next", "epochs", "cycle ends"),
    *("rate ×", "why", "gauges"),
)
LABEL = "batch size decided"
MOST_ROWS = 60
"""Of more decisions than this only those are shown that changed something."""


def names(group: Group) -> list[tuple[str, tuple[Run, ...]]]:
    """Return what is drawn as one curve: all seeds together, or each seed that decided itself."""
    if not group.is_adaptive:
        return [(group.name, group.runs)]
    return [(f"{group.name}, seed {run.result['seed']}", (run,)) for run in group.runs]


def decision_marks(run: Run, name: str, against: str) -> Iterator[Mark]:
    """Yield a mark for each decision; a shape stands on the curve where it changed something."""
    for decision in run.decisions:
        epochs = run.epochs_at(decision["update"])
        yield Mark(
            at=decision["update"] if against == "update" else epochs,
            label=LABEL if _has_changed(decision) else "",
            note=told(decision, epochs),
            series=name,
            on_curve=True,
        )


def told(decision: dict[str, Any], epochs: float) -> str:
    """Say a decision: when, what, why, and on which gauges."""
    sizes = f"{decision['batch_size']:,} → {decision['next_batch_size']:,}"
    when = f"after epoch {epochs:g}, update {decision['update']:,}"
    ended = ", a cycle ends" if decision["ends_cycle"] else ""
    gauges = f" [{_gauges(decision)}]" if decision["gauges"] else ""
    return f"{sizes} {when}{ended}: {decision['reason']}{gauges}"


def decision_rows(groups: Sequence[Group], *, changes: bool = False) -> list[list[Value]]:
    """Return a row with the `COLUMNS` for every decision of every run, or for every change."""
    return [
        _row(name, run, decision)
        for group in groups
        for name, runs in names(group)
        for run in runs
        for decision in run.decisions
        if _has_changed(decision) or not changes
    ]


def shown_rows(groups: Sequence[Group]) -> tuple[str, list[list[Value]]]:
    """Return what a table of decisions shows, and what it is called."""
    every = decision_rows(groups)
    if len(every) <= MOST_ROWS:
        return "Decisions: when, why, and on which gauges", every
    few = decision_rows(groups, changes=True)
    return f"The {len(few):,} of {len(every):,} decisions that changed the batch size", few


def decision_sections(groups: Sequence[Group]) -> Iterator[Table | Download]:
    """Yield the decisions as a table of a page, if there are any, and all of them as CSV."""
    every = decision_rows(groups)
    if every:
        caption, rows = shown_rows(groups)
        yield Table(columns=COLUMNS, rows=rows, caption=caption, download=False)
        yield Download("decisions.csv", csv_text(COLUMNS, every), "CSV")


def _has_changed(decision: dict[str, Any]) -> bool:
    return bool(decision["batch_size"] != decision["next_batch_size"] or decision["ends_cycle"])


def _row(name: str, run: Run, decision: dict[str, Any]) -> list[Value]:
    return [
        name,
        run.epochs_at(decision["update"]),
        decision["update"],
        decision["batch_size"],
        decision["next_batch_size"],
        decision["epochs"],
        "yes" if decision["ends_cycle"] else "",
        decision["rate_factor"],
        decision["reason"],
        _gauges(decision),
    ]


def _gauges(decision: dict[str, Any]) -> str:
    gauges = decision["gauges"].items()
    return ", ".join(f"{name.replace('_', ' ')} {written(value)}" for name, value in gauges)
