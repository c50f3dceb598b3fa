"""Decisions of adaptive runs: marks on their curves, and tables of when, why and on what."""

from collections.abc import Iterator, Sequence
from typing import Any

from rebatch.report._chart import Mark
from rebatch.report._page import Download
from rebatch.report._runs import Group, Run
from rebatch.report._table import Table
from rebatch.report._values import Value, csv_text

COLUMNS = (
    *("run", "after epoch", "after update", "batch size", "next", "epochs", "cycle ends"),
    *("rate ×", "why", "gauges"),
)
LABEL = "batch size decided"
MOST_ROWS = 60
"""Of more decisions than this only those are shown that changed something."""
SHOWN = ("run", "after epoch", "update", "batch size", "why", "gauges")


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
    """Say a decision: what, when, why, and on which gauges; in short where nothing changed."""
    if not _has_changed(decision):
        return f"stays at {decision['batch_size']:,}: {decision['reason']}"
    when = f"after epoch {epochs:g}, update {decision['update']:,}"
    gauges = f" [{_gauges(decision)}]" if decision["gauges"] else ""
    return f"{_change(decision)}, {when}: {decision['reason']}{gauges}"


def _change(decision: dict[str, Any]) -> str:
    rate = decision["rate_factor"]
    parts = [f"{decision['batch_size']:,} → {decision['next_batch_size']:,}"]
    parts += ["a cycle ends"] if decision["ends_cycle"] else []
    return ", ".join([*parts, f"rate × {rate:g}"] if rate not in (None, 1) else parts)


def _every(groups: Sequence[Group]) -> list[tuple[str, Run, dict[str, Any]]]:
    """Return every decision with the name of its curve and its run."""
    drawn = [pair for group in groups for pair in names(group)]
    return [(name, run, made) for name, runs in drawn for run in runs for made in run.decisions]


def decision_rows(groups: Sequence[Group]) -> list[list[Value]]:
    """Return a row with the `COLUMNS` for every decision of every run."""
    return [_row(name, run, decision) for name, run, decision in _every(groups)]


def shown_rows(groups: Sequence[Group]) -> tuple[str, list[list[Value]]]:
    """Return what a table of decisions shows under `SHOWN`, and what it is called."""
    every = _every(groups)
    few = [made for made in every if _has_changed(made[2])] if len(every) > MOST_ROWS else every
    rows: list[list[Value]] = [
        [
            *(name, run.epochs_at(decision["update"]), decision["update"], _change(decision)),
            *(decision["reason"], _gauges(decision)),
        ]
        for name, run, decision in few
    ]
    if few is every:
        return "Decisions: when, why, and on which gauges", rows
    return f"The {len(few):,} of {len(every):,} decisions that changed the batch size", rows


def decision_sections(groups: Sequence[Group]) -> Iterator[Table | Download]:
    """Yield the decisions as a table of a page, if there are any, and all of them as CSV."""
    every = decision_rows(groups)
    if every:
        caption, rows = shown_rows(groups)
        yield Table(columns=SHOWN, rows=rows, caption=caption, download=False)
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
    return ", ".join(f"{name.replace('_', ' ')} {value:.4g}" for name, value in gauges)
