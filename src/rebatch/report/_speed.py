"""Measured speeds as a table: read from a record of ``rebatch bench``, nothing else."""

from collections.abc import Mapping, Sequence
from typing import Any

SPEEDS = ("model", "batch", "ours", "plain", "ratio", "asked", "resident", "of limit")
COSTS = (
    "model",
    "batch",
    "epoch, ours",
    "epoch, plain",
    "memory, ours",
    "memory, plain",
    "graphs",
    "warm-up",
)
Record = Mapping[str, Any]


def speed_rows(record: Record) -> list[list[str]]:
    """Return a row of texts for each cell, under `SPEEDS`."""
    return [_speeds(cell) for cell in record["cells"]]


def cost_rows(record: Record) -> list[list[str]]:
    """Return a row of texts for each cell, under `COSTS`."""
    return [_costs(cell) for cell in record["cells"]]


def speed_notes(record: Record) -> list[str]:
    """Return what somebody has to know to read the table."""
    against = [cell["model"] for cell in record["cells"] if cell["against"] == "plain_bf16"]
    threads, workers, rounds = (
        f"{record[name]} {name[:-1] if record[name] == 1 else name}"
        for name in ("threads", "workers", "rounds")
    )
    notes = [
        f"{record['device']}, torch {record['torch']}, {threads}; the plain loop has {workers}",
        f"ours, plain: updates a second, data included, best of {rounds} of "
        f"{record['seconds']:g} s taken in turns; ratio: ours / plain",
        "resident: the ratio with the data on the device in both",
        "of limit: ours as a share of the roofline, what the device could do at best",
        "warm-up: what the first updates took beyond their usual time, once",
    ]
    if any(cell["memory"] for cell in record["cells"]):
        notes.append("memory: what the device set aside; graphs: captured, and in how long")
    if against:
        names = ", ".join(dict.fromkeys(against))
        notes.append(f"{names}: plain is channels-last and autocast to bf16")
    if record["share"] < 1:
        notes.append(f"only {record['share']:.2g} of the data: to try it out, not to be quoted")
    return notes


def speed_markdown(record: Record) -> str:
    """Return the tables and their notes as Markdown."""
    tables = ((SPEEDS, speed_rows(record)), (COSTS, cost_rows(record)))
    notes = "".join(f"- {note}\n" for note in speed_notes(record))
    return "\n".join([*(_markdown(columns, rows) for columns, rows in tables), notes])


def _markdown(columns: Sequence[str], rows: list[list[str]]) -> str:
    lines = [columns, ["---", *["---:"] * (len(columns) - 1)], *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _speeds(cell: Record) -> list[str]:
    speeds = cell["updates_per_second"]
    return [
        cell["model"],
        f"{cell['batch_size']}",
        _number(speeds["ours"]),
        _number(speeds[cell["against"]]),
        _times(cell["ratio"]),
        _asked(cell["asked"], cell["met"]),
        _times(cell["resident_ratio"]),
        f"{100 * speeds['ours'] / cell['limit']:.2g} %",
    ]


def _costs(cell: Record) -> list[str]:
    against, epochs, memory = cell["against"], cell["epoch_seconds"], cell["memory"]
    graphs, seconds = cell["graphs"], cell["capture_seconds"]
    return [
        cell["model"],
        f"{cell['batch_size']}",
        f"{_number(epochs['ours'])} s",
        f"{_number(epochs[against])} s",
        _gigabytes(memory.get("ours")),
        _gigabytes(memory.get(against)),
        f"{graphs}, {seconds:.1f} s" if graphs else "–",
        f"{cell['warm_up_seconds']:.1f} s",
    ]


def _asked(asked: float | None, met: bool | None) -> str:
    return "–" if asked is None else f"{asked:g}x {'met' if met else 'missed'}"


def _times(ratio: float) -> str:
    return f"{ratio:.2f}x"


def _number(value: float) -> str:
    """Write three digits.

    >>> [_number(value) for value in (12345.6, 170.4, 2.345, 0.0123)]
    ['12,346', '170', '2.35', '0.0123']
    """
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _gigabytes(size: float | None) -> str:
    return "–" if size is None else f"{size / 1e9:.2f} GB"


def loop_names(cells: Sequence[Record]) -> list[str]:
    """Return the loops that occur in cells, in the order of their first appearance."""
    return list(dict.fromkeys(name for cell in cells for name in cell["rounds"]))
