"""``rebatch demo``: the whole line on data that ships with the package."""

import argparse
from itertools import product
from pathlib import Path
from typing import Any

ABOUT = """\
Train a small network that overfits handwritten digits under the baseline and
under cyclical batch sizes, with several seeds; average the predictions of each
run's snapshots; print a table and write a report page with the curves. Takes
about half a minute."""


def register(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "demo",
        help="the main job on data that ships with the package, in half a minute",
        description=ABOUT,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    out = "where runs and page go; finished runs are kept (default: demo)"
    parser.add_argument("--out", type=Path, default=Path("demo"), metavar="DIR", help=out)
    parser.add_argument("--seeds", default="3", metavar="N", help="runs of each (default: 3)")
    parser.add_argument("--epochs", metavar="E", help="length of a run (default: 40)")
    parser.set_defaults(run=run_demo)


def run_demo(arguments: argparse.Namespace) -> None:
    """Train every schedule and seed, then print the table and the page's path."""
    from rebatch.cli.train import whole
    from rebatch.recipes import DEMO, override

    seeds = whole("seeds", arguments.seeds, at_least=1)
    settings = [] if arguments.epochs is None else [f"epochs={arguments.epochs}"]
    recipe = override(DEMO, settings)

    import torch

    from rebatch.cli._progress import TrainingBar
    from rebatch.recipes import case
    from rebatch.recipes._run import run

    torch.set_num_threads(1)  # the network is too small to share between cores
    todo = list(product(recipe.schedules, range(seeds)))
    for number, (code, seed) in enumerate(todo, start=1):
        label = f"[{number}/{len(todo)}] {code:8} seed {seed}"
        with TrainingBar(label) as bar:
            run(
                case(recipe, code),
                seed=seed,
                out=arguments.out / "runs" / code / f"seed{seed}",
                device="cpu",
                overrides=settings,
                resume=True,
                watch=bar.follow,
            )
    _show(arguments.out)


def _show(out: Path) -> None:
    from rich.box import SIMPLE
    from rich.console import Console
    from rich.table import Table

    from rebatch.report import results_page, write
    from rebatch.report._results import COLUMNS, table_rows, verdict
    from rebatch.report._runs import headline, read_groups
    from rebatch.report._table import Cell

    groups = read_groups(out / "runs")
    metric = headline(groups)
    table = Table(box=SIMPLE, title="handwritten digits: test accuracy, %", title_justify="left")
    for index, name in enumerate(COLUMNS):
        table.add_column(name, justify="right" if index else "left", no_wrap=True)
    for row in table_rows(groups, metric):
        plain = [cell.value if isinstance(cell, Cell) else cell for cell in row]
        table.add_row(*(f"{value:,}" if isinstance(value, int) else str(value) for value in plain))
    console = Console()
    console.print(table)
    console.print(verdict(groups, metric), highlight=False)
    page = write(out / "report.html", results_page(out / "runs", "rebatch: the demo"))
    console.print(f"curves: {page}", highlight=False, soft_wrap=True)
