"""Decisions of adaptive runs: marks on their curves, and tables of when, why and on what."""

from collections.abc import Iterator, Sequence
from typing import Any

from rebatch.report._chart import Mark
from rebatch.report._runs import Group, Run
from rebatch.report._table import Table
from rebatch.report._values import Value, written

COLUMNS = (
    *("run", "after epoch", "after update", "batch size", "next", "for epochs", "ends a cycle"),
    *("rate ×", "why", "gauges"),
)
LABEL = "batch size decided"


def names(group: Group) -> list[tuple[str, tuple[Run, ...]]]:
    """Return what is drawn as one curve: all seeds together, or each seed that decided itself."""
    if not group.is_adaptive:
        return [(group.name, group.runs)]
    return [(f"{group.name}, seed {run.result['seed']}", (run,)) for run in group.runs]


def decision_marks(run: Run, name: str, against: str) -> Iterator[Mark]:
    """Yield a mark for each decision; a shape stands on the curve where it changed something."""
    for decision in run.decisions:
        epochs = run.epochs_at(decision["update"])
        changed = decision["batch_size"] != decision["next_batch_size"] or decision["ends_cycle"]
        yield Mark(
            at=decision["update"] if against == "update" else epochs,
            label=LABEL if changed else "",
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


def decision_rows(groups: Sequence[Group]) -> list[list[Value]]:
    """Return a row with the `COLUMNS` for every decision of every run."""
    return [
        _row(name, run, decision)
        for group in groups
        for name, runs in names(group)
        for run in runs
        for decision in run.decisions
    ]


def decision_table(groups: Sequence[Group]) -> Table | None:
    """Return the decisions as a table of a page, if there are any."""
    rows = decision_rows(groups)
    if not rows:
        return None
    count = f"{len(rows):,} decision" + ("s" if len(rows) > 1 else "")
    caption = f"{count}: when, why, and on which gauges"
    return Table(columns=COLUMNS, rows=rows, caption=caption, download="decisions.csv")


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
