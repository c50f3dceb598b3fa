"""``rebatch reproduce``: the runs of one of the paper's tables, then the report."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rebatch.cli._dry_run import print_dry_run
from rebatch.cli.sweep import add_sweep_arguments, local_folder, making, seeds
from rebatch.errors import InputError, RunError, one_of

if TYPE_CHECKING:
    from rebatch.sweeps import Identity
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
    parser.add_argument("--seeds", default="0", metavar="0,1,2", help="default: 0")
    parser.add_argument("--controls", action="store_true", help="with the controls of the table")
    add_sweep_arguments(parser, out="reproduction")
    parser.set_defaults(run=run_reproduce)


def run_reproduce(arguments: argparse.Namespace) -> None:
    """Say what would be run, or run it and write the page."""
    cells = cells_of(arguments.table, controls=arguments.controls)
    runs = runs_of(cells, seeds(arguments.seeds), arguments.settings)
    out = local_folder(arguments.out, "for the page to be written to")
    made = making(list(runs), arguments)
    if arguments.dry_run:
        rows = [next(run for run in runs if _is_run_of(run, cell)) for cell in cells]
        print_dry_run(runs, rows, out, arguments, figures=[cell.part for cell in cells])
        return
    from rebatch.sweeps import Stopped

    failure = None
    try:
        made()
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


def _is_run_of(run: "Identity", cell: "PaperCell") -> bool:
    """Say whether a run gives a cell its figure; one run may give two."""
    named = (run.recipe, run.schedule, run.variant)
    return named == (cell.recipe, cell.schedule, cell.variant)


def _report(out: Path, table: str) -> None:
    from rebatch.records import find_runs
    from rebatch.report import results_page, write

    if any(run.result.exists() for run in find_runs(out)):
        print(write(out / "report.html", results_page(out, f"rebatch: {table}")))
