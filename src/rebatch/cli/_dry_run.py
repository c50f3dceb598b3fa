"""What many runs would be, and about how long they would take, before any is made."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rebatch.errors import InputError

if TYPE_CHECKING:
    from rebatch.sweeps import Identity
    from rebatch.sweeps._cost import Rates


def add_dry_run(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of a dry run."""
    parser.add_argument("--dry-run", action="store_true", help="say what would be run, and stop")
    parser.add_argument("--rates", type=Path, metavar="DIR", help="finished runs to judge time by")


def print_dry_run(
    runs: "Sequence[Identity]",
    rows: "Sequence[Identity]",
    out: Path,
    arguments: argparse.Namespace,
    *,
    figures: Sequence[str] = (),
) -> None:
    """Print a line for each of ``rows``, which give the ``figures``, and what is left of ``runs``.

    Other seeds of a row take as long, so one of them stands for all.
    """
    from rebatch.records import FINISHED
    from rebatch.sweeps._cost import device_name, read_rates
    from rebatch.sweeps._standing import standing

    if arguments.rates is not None and not arguments.rates.is_dir():
        raise InputError(f"rates must be a folder of runs, got {arguments.rates}")
    device = device_name(arguments.device)
    folders = [out] if arguments.rates is None else [out, arguments.rates]
    rates = read_rates(folders, device, arguments.engine)
    print("\n".join(_lines(rows, figures, rates)))
    left = [run for run in runs if standing(run, out / run.folder).status != FINISHED]
    done, seeds = len(runs) - len(left), len({run.seed for run in runs})
    updates = sum(run.plan.updates for run in left)
    rest = f"{_total(left, rates)} on {device}" if left else "nothing left to run"
    cells = f"{_count(len(rows), 'cell')}, " if figures else ""
    print(
        f"{cells}{_count(len(runs), 'run')} with {_count(seeds, 'seed')}"
        f"{f', {done} finished' if done else ''}, {updates:,} updates, {rest}"
    )


def _lines(rows: "Sequence[Identity]", figures: Sequence[str], rates: "Rates") -> list[str]:
    shown = figures or [""] * len(rows)
    table = [("recipe", "schedule", "variant", "figure" if figures else "", "updates", "time")]
    for run, figure in zip(rows, shown, strict=True):
        time = _time(rates.estimate(run))
        table.append((run.recipe, run.schedule, run.variant or "", figure, run.updates, time))
    columns = [column for column in zip(*table, strict=True) if any(column)]
    widths = [max(map(len, column)) for column in columns]
    numbers = len(columns) - 2
    return [
        "  ".join(
            part.rjust(width) if index >= numbers else part.ljust(width)
            for index, (part, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in zip(*columns, strict=True)
    ]


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _total(runs: "Sequence[Identity]", rates: "Rates") -> str:
    known = [rates.estimate(run) for run in runs]
    sums = sum(seconds for seconds in known if seconds is not None)
    missing = sum(seconds is None for seconds in known)
    if missing == len(known):
        return "time unknown"
    return f"about {_time(sums)}" + (
        f" and {_count(missing, 'run')} of unknown time" if missing else ""
    )


def _time(seconds: float | None) -> str:
    from rebatch.sweeps._screen import clock

    return "unknown" if seconds is None else clock(seconds)
