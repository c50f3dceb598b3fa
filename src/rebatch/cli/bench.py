"""``rebatch bench``: speed against plain PyTorch, side by side in one run."""

import argparse
import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from rebatch.cli._bench_parts import add_parts
from rebatch.cli._bench_show import add_show
from rebatch.cli._bench_speed import add_speed
from rebatch.errors import RunError

if TYPE_CHECKING:
    from rebatch.bench.feeding import Comparison

    Commands = argparse._SubParsersAction[argparse.ArgumentParser]

_ABOUT = """\
Measure how fast training is, always side by side with plain PyTorch in one run.
Data is generated: nothing is downloaded. docs/speed.md says how it is done.
"""
_START = """\
Start with: rebatch bench cpu --quick
"""
_FEEDING = """\
Measure how fast batches come, side by side with torch's own loaders:

  indices   one epoch of batch indices at the size of ImageNet, time and memory
  loading   CIFAR-shaped tensors in memory, on the CPU, against a DataLoader
            with 0 and 2 workers

Times are the best of several passes, taken in turns, with one thread for either
side. The ratio is torch's figure divided by ours.
"""
_EXAMPLES = """\
examples:
  rebatch bench feeding
  rebatch bench feeding --json feeding.json
"""


def register(commands: "Commands") -> None:
    """Add ``rebatch bench`` to the command line."""
    parser = commands.add_parser(
        "bench",
        help="speed against a plain PyTorch loop, side by side in one run",
        description=_ABOUT,
        epilog=_START,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    benches = parser.add_subparsers(metavar="WHAT", required=True)
    add_speed(benches)
    add_parts(benches)
    feeding = benches.add_parser(
        "feeding",
        help="how fast batches and their indices come",
        description=_FEEDING,
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    feeding.add_argument("--quick", action="store_true", help="little data: only to try it out")
    feeding.add_argument("--json", metavar="FILE", help="write the figures to FILE as well")
    feeding.set_defaults(run=run_feeding)
    add_show(benches)


def run_feeding(arguments: argparse.Namespace) -> None:
    """Measure, print the table, and write the figures where they are wanted."""
    from rebatch.bench.feeding import compare_feeding

    if arguments.json:
        _write("", arguments.json)  # a place that cannot be written is known before the minutes
    found = compare_feeding(quick=arguments.quick)
    _print(found)
    if arguments.json:
        _write(_figures(found), arguments.json)


def _print(found: "list[Comparison]") -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table()
    for name in ("what", "against"):
        table.add_column(name, overflow="fold")
    for name in ("rebatch", "torch", "ratio", "asked"):
        table.add_column(name, justify="right", no_wrap=True)
    for row in found:
        figures = (f"{value:.3g} {row.unit}" for value in (row.rebatch, row.torch))
        table.add_row(row.name, row.against, *figures, f"{row.ratio:.1f}x", f"{row.target:g}x")
    Console().print(table)


def _figures(found: "list[Comparison]") -> str:
    import torch

    rows = [{**asdict(row), "ratio": row.ratio} for row in found]
    return json.dumps({"torch": torch.__version__, "feeding": rows}, indent=2) + "\n"


def _write(text: str, file: str) -> None:
    try:
        Path(file).write_text(text)
    except OSError as error:
        raise RunError(f"{file} could not be written: {error.strerror}") from None
