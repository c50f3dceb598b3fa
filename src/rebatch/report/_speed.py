"""Measured speeds as a table: read from a record of ``rebatch bench``, nothing else."""

from collections.abc import Mapping, Sequence
from typing import Any

COLUMNS = (
    *("model", "batch", "ours", "plain", "ratio", "asked", "resident", "limit"),
    *("epoch ours", "plain", "memory ours", "plain", "warm-up"),
)
Record = Mapping[str, Any]


def speed_rows(record: Record) -> list[list[str]]:
    """Return a row of texts for each cell, under `COLUMNS`."""
    return [_row(cell) for cell in record["cells"]]


def speed_notes(record: Record) -> list[str]:
    """Return what somebody has to know to read the table."""
    against = [cell["model"] for cell in record["cells"] if cell["against"] == "plain_bf16"]
    notes = [
        f"{record['device']}, torch {record['torch']}, {record['workers']} workers for the plain "
        f"loop, {record['threads']} threads",
        f"ours, plain: updates a second, data included, best of {record['rounds']} rounds of "
        f"{record['seconds']:g} s taken in turns; ratio: ours / plain",
        "resident: the ratio with the data on the device in both; limit: ours in per cent of the "
        "roofline",
        "epoch: seconds; memory: set aside on the device; warm-up: seconds, once",
    ]
    if against:
        names = ", ".join(dict.fromkeys(against))
        notes.append(f"{names}: plain is channels-last and autocast to bf16")
    if record["share"] < 1:
        notes.append(f"only {record['share']:.2g} of the data: to try it out, not to be quoted")
    return notes


def speed_markdown(record: Record) -> str:
    """Return the table and its notes as Markdown."""
    lines = ["| " + " | ".join(COLUMNS) + " |", "|---|" + "---:|" * (len(COLUMNS) - 1)]
    lines += ["| " + " | ".join(row) + " |" for row in speed_rows(record)]
    return "\n".join(lines) + "\n\n" + "".join(f"- {note}\n" for note in speed_notes(record))


def _row(cell: Record) -> list[str]:
    against, speeds = cell["against"], cell["updates_per_second"]
    epochs, memory = cell["epoch_seconds"], cell["memory"]
    return [
        cell["model"],
        f"{cell['batch_size']}",
        _number(speeds["ours"]),
        _number(speeds[against]),
        _times(cell["ratio"]),
        _asked(cell["asked"], cell["met"]),
        _times(cell["resident_ratio"]),
        f"{100 * speeds['ours'] / cell['limit']:.0f} %",
        _number(epochs["ours"]),
        _number(epochs[against]),
        _gigabytes(memory.get("ours")),
        _gigabytes(memory.get(against)),
        f"{cell['warm_up_seconds']:.1f}",
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
