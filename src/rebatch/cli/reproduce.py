"""``rebatch reproduce``: the runs of one of the paper's tables, then the report."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rebatch.cli.sweep import add_sweep_arguments, local_folder, make, seeds
from rebatch.errors import InputError, RunError, one_of

if TYPE_CHECKING:
    from rebatch.sweeps import Identity
    from rebatch.sweeps._cost import Rates
    from rebatch.sweeps._paper import PaperCell

FIGURES = "figures"
EXAMPLES = """\
examples:
  rebatch reproduce language --dry-run
  rebatch reproduce cifar10-overfit --seeds 0,1,2 --data data --out reproduction
  rebatch reproduce initialization --controls --data data

tables: language, overfit-language, ensemble-language, inference, cifar10,
cifar10-overfit, ensemble-cifar10, adversarial, initialization, imagenet,
imagenet-ensemble; and figures, the runs whose curves the paper draws. The same
command again goes on where it was: see rebatch sweep.

A time is only told where finished runs of the same recipe on the same device
are found below DIR or the folder of --rates; runs are counted one after
another."""


def register(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "reproduce",
        help="the runs of one of the paper's tables, then the report",
        description="Make the runs of a table of the paper, and a page with ours beside theirs.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("table", help="a table of the paper, or figures")
    parser.add_argument("--dry-run", action="store_true", help="say what would be run, and stop")
    parser.add_argument("--seeds", default="0", metavar="0,1,2", help="default: 0")
    parser.add_argument("--controls", action="store_true", help="with the controls of the table")
    parser.add_argument("--rates", type=Path, metavar="DIR", help="finished runs to judge time by")
    add_sweep_arguments(parser, out="reproduction")
    parser.set_defaults(run=run_reproduce)


def run_reproduce(arguments: argparse.Namespace) -> None:
    """Say what would be run, or run it and write the page."""
    cells = cells_of(arguments.table, controls=arguments.controls)
    chosen = seeds(arguments.seeds)
    runs = runs_of(cells, chosen, arguments.settings)
    out = local_folder(arguments.out, "for the page to be written to")
    if arguments.dry_run:
        _print_dry_run(cells, runs, len(set(chosen)), out, arguments)
        return
    from rebatch.sweeps import Stopped

    failure = None
    try:
        make(list(runs), arguments)
    except Stopped:
        raise
    except RunError as error:
        failure = error
    _report(out, arguments.table)
    if failure is not None:
        raise failure


def cells_of(table: str, *, controls: bool = False) -> "list[PaperCell]":
    """Return the cells of a table in the paper's order, then its controls if asked for."""
    from rebatch.report._controls import controls as controls_of
    from rebatch.report._published import published, tables
    from rebatch.sweeps._paper import FIGURES as curves
    from rebatch.sweeps._paper import PaperCell

    one_of("table", table, (*tables(), FIGURES))
    beside = controls_of(table) if controls else []
    if controls and not beside:
        raise InputError(f"controls must be asked for with a table that has some, got {table}")
    wanted = [*(cell for cell in published() if cell.table == table), *beside]
    cells = [PaperCell(cell.recipe, cell.schedule, cell.variant, cell.part) for cell in wanted]
    return cells or list(curves)


def runs_of(
    cells: "Sequence[PaperCell]", chosen: Sequence[int], settings: Sequence[str]
) -> "list[Identity]":
    """Return the runs of the cells, seed by seed, each checked."""
    from rebatch.sweeps import identities
    from rebatch.sweeps._paper import run_of

    made = []
    for seed in chosen:
        for cell in cells:
            run = run_of(cell, seed)
            made += identities(run.recipe, [run.schedule], [seed], [run.variant], settings)
    return list(dict.fromkeys(made))


def _print_dry_run(
    cells: "Sequence[PaperCell]",
    runs: "Sequence[Identity]",
    seeds: int,
    out: Path,
    arguments: argparse.Namespace,
) -> None:
    from rebatch.records import FINISHED
    from rebatch.sweeps._cost import device_name, read_rates
    from rebatch.sweeps._standing import standing

    if arguments.rates is not None and not arguments.rates.is_dir():
        raise InputError(f"rates must be a folder of runs, got {arguments.rates}")
    device = device_name(arguments.device)
    folders = [out] if arguments.rates is None else [out, arguments.rates]
    rates = read_rates(folders, device, arguments.engine)
    print("\n".join(_lines(cells, runs, rates)))
    left = [run for run in runs if standing(run, out / run.folder).status != FINISHED]
    done = len(runs) - len(left)
    updates = sum(run.plan.updates for run in left)
    rest = f"{_total(left, rates)} on {device}" if left else "nothing left to run"
    print(
        f"{_count(len(cells), 'cell')}, {_count(len(runs), 'run')} with {_count(seeds, 'seed')}"
        f"{f', {done} finished' if done else ''}, {updates:,} updates, {rest}"
    )


def _lines(cells: "Sequence[PaperCell]", runs: "Sequence[Identity]", rates: "Rates") -> list[str]:
    rows = [("recipe", "schedule", "variant", "figure", "updates", "time")]
    for cell in cells:
        run = next(run for run in runs if _is_run_of(run, cell))
        updates = run.updates
        time = _time(rates.estimate(run))
        rows.append((run.recipe, run.schedule, run.variant or "", cell.part, updates, time))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            part.rjust(width) if index > 3 else part.ljust(width)
            for index, (part, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def _is_run_of(run: "Identity", cell: "PaperCell") -> bool:
    """Say whether a run gives a cell its figure; one run may give two."""
    named = (run.recipe, run.schedule, run.variant)
    return named == (cell.recipe, cell.schedule, cell.variant)


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


def _report(out: Path, table: str) -> None:
    from rebatch.records import find_runs
    from rebatch.report import results_page, write

    if any(run.result.exists() for run in find_runs(out)):
        print(write(out / "report.html", results_page(out, f"rebatch: {table}")))
