"""``rebatch bench gpu`` and ``cpu``: updates a second beside a plain loop's."""

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rebatch.cli._numbers import number, whole
from rebatch.cli._picture import check_picture
from rebatch.errors import InputError, RunError, shown

if TYPE_CHECKING:
    from torch import device as Device

    from rebatch.bench.cells import Cell

    Commands = argparse._SubParsersAction[argparse.ArgumentParser]

_ABOUT = """\
Measure updates a second and seconds an epoch, data included, side by side with
a plain PyTorch loop in one run: eager, PyTorch's own precision, a DataLoader
with 8 workers (or as many as there are processors) that crops and flips an
image at a time; a token stream is on the device, sliced. Beside it the ratio
with the data on the device in both. Data is generated: nothing is downloaded.
docs/speed.md says how it is done.
"""
_EXAMPLES = """\
examples:
  rebatch bench {kind}
  rebatch bench {kind} --only {only} --sizes {sizes} --seconds 3
  rebatch bench {kind} --out results/bench
  rebatch bench show results/bench/{kind}-NAME.json --plot speed.svg
"""


def add_speed(benches: "Commands") -> None:
    """Add the two commands."""
    for kind, only, sizes in (("gpu", "L1,C3", "10,128"), ("cpu", "C1", "64,128")):
        parser = benches.add_parser(
            kind,
            help=f"updates a second on a {kind.upper()}, ours and a plain loop's",
            description=_ABOUT,
            epilog=_EXAMPLES.format(kind=kind, only=only, sizes=sizes),
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        _add_options(parser)
        parser.set_defaults(run=run_speed, kind=kind)


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--only", metavar="MODELS", help="such as L1,C3 (default: all)")
    parser.add_argument(
        "--sizes", metavar="SIZES", help="batch sizes (default: those of the model)"
    )
    parser.add_argument("--seconds", metavar="S", default="1", help="of a turn (default: 1)")
    parser.add_argument(
        "--rounds", metavar="N", default="3", help="turns of each loop (default: 3)"
    )
    add_common(parser)
    parser.add_argument("--json", metavar="FILE", help="write the figures to FILE as well")
    parser.add_argument("--plot", metavar="FILE", help="also draw them: .png or .svg")
    parser.add_argument(
        "--out", metavar="DIR", help="write figures and picture, named by the device"
    )


def add_common(parser: argparse.ArgumentParser) -> None:
    """Add what all these commands understand."""
    parser.add_argument(
        "--engine",
        default="auto",
        metavar="HOW",
        help="how our updates are made: eager, graphs or compiled (default: its own choice)",
    )
    parser.add_argument(
        "--set", metavar="FIELD=VALUE", action="append", default=[], help="change the recipe"
    )
    parser.add_argument("--threads", metavar="N", help="of torch (default: its own choice)")
    parser.add_argument("--quick", action="store_true", help="little data: only to try it out")


def set_threads(arguments: argparse.Namespace) -> None:
    """Let torch compute with as many threads as were asked for."""
    import torch

    threads = whole("threads", arguments.threads)
    if threads is not None:
        torch.set_num_threads(threads)


def run_speed(arguments: argparse.Namespace) -> None:
    """Measure cell by cell, write what is known after each, and print the table."""
    from rebatch.bench.machine import machine
    from rebatch.records import write_json

    set_threads(arguments)
    check_picture(arguments.plot)
    device, cells = _device(arguments.kind), _cells(arguments)
    record = {"kind": arguments.kind, **machine(device), **_settings(arguments)}
    kept = _kept(arguments, record, cells)
    files = [Path(file) for file in (arguments.json, _file(arguments, record)) if file]
    found: list[dict[str, Any]] = []
    for file in files:  # a place that cannot be written is known before the minutes
        write_json(file, {**record, "cells": kept})
    for cell in _measured(arguments, cells, device):
        found.append(cell)
        for file in files:
            write_json(file, {**record, "cells": [*kept, *found]})
    show_speed({**record, "cells": found})
    _draw({**record, "cells": [*kept, *found]}, arguments, files)


def name_of(record: dict[str, Any]) -> str:
    """Return a name for the record of a device and engine, the same each time.

    >>> name_of({"kind": "gpu", "engine": "graphs", "device": "NVIDIA H200"})
    'gpu-graphs-nvidia-h200'
    """
    from rebatch.bench.machine import file_name

    chosen = "" if record["engine"] == "auto" else f"-{record['engine']}"
    return file_name(f"{record['kind']}{chosen}", record)


def _file(arguments: argparse.Namespace, record: dict[str, Any]) -> str | None:
    """Return where ``--out`` keeps the figures."""
    return None if arguments.out is None else f"{arguments.out}/{name_of(record)}.json"


def _kept(
    arguments: argparse.Namespace, record: dict[str, Any], cells: "Sequence[Cell]"
) -> list[dict[str, Any]]:
    """Return what ``--out`` already holds of cells that are not measured now."""
    from rebatch.records import read_json

    file = _file(arguments, record)
    if file is None or not Path(file).exists():
        return []
    known = read_json(Path(file))
    before: list[dict[str, Any]] = known.pop("cells", [])
    if before:
        check_settings(file, known, record)
    now = {(cell.model, cell.batch_size) for cell in cells}
    return [cell for cell in before if (cell["model"], cell["batch_size"]) not in now]


def check_settings(file: str, known: dict[str, Any], record: dict[str, Any]) -> None:
    """Refuse to replace what was measured otherwise: minutes of a device are not written over."""
    for name, value in record.items():
        if known.get(name) != value:
            other = f"{name} is {shown(known.get(name))}, not {shown(value)}"
            raise InputError(f"out must hold no record of other settings, got {file}: its {other}")


def _measured(
    arguments: argparse.Namespace, cells: "Sequence[Cell]", device: "Device"
) -> Iterator[dict[str, Any]]:
    from rebatch.bench.measure import Pace, measure
    from rebatch.cli._progress import counter

    seconds, rounds = number("seconds", arguments.seconds), whole("rounds", arguments.rounds)
    pace = Pace(seconds or 1.0, rounds or 3, 0.01 if arguments.quick else 1.0)
    with counter() as bar:
        task = bar.add_task("", total=len(cells))
        found = measure(
            cells,
            device,
            pace,
            engine=arguments.engine,
            settings=arguments.set,
            tell=lambda what: bar.update(task, description=what),
        )
        for speed in found:
            bar.advance(task)
            yield speed.to_dict()


def _device(kind: str) -> "Device":
    import torch

    if kind == "gpu" and not torch.cuda.is_available():
        raise InputError("device must be a GPU that torch can use for bench gpu, got none")
    return torch.device("cuda" if kind == "gpu" else "cpu")


def _cells(arguments: argparse.Namespace) -> "list[Cell]":
    from rebatch.bench.cells import cells

    only = [model.strip() for model in (arguments.only or "").split(",") if model.strip()]
    sizes = [whole("sizes", size) for size in (arguments.sizes or "").split(",") if size.strip()]
    return cells(arguments.kind, only, [size for size in sizes if size is not None])


def _settings(arguments: argparse.Namespace) -> dict[str, Any]:
    from rebatch.bench.plain_data import workers

    return {
        "workers": workers(),
        "engine": arguments.engine,
        "settings": arguments.set,
        "seconds": number("seconds", arguments.seconds),
        "rounds": whole("rounds", arguments.rounds),
        "share": 0.01 if arguments.quick else 1.0,
    }


def show_speed(record: dict[str, Any]) -> None:
    """Print the tables of a record, and what is needed to read them."""
    from rich.console import Console
    from rich.table import Table

    from rebatch.report._speed import COSTS, SPEEDS, cost_rows, speed_notes, speed_rows

    console = Console()
    for columns, rows in ((SPEEDS, speed_rows(record)), (COSTS, cost_rows(record))):
        table = Table()
        known = [place for place in range(len(columns)) if {row[place] for row in rows} != {"–"}]
        for place in known:
            heading = columns[place].replace(", ", "\n")
            table.add_column(heading, justify="right" if place else "left", no_wrap=True)
        for row in rows:
            table.add_row(*(row[place] for place in known))
        console.print(table)
    for note in speed_notes(record):
        console.print(note, style="dim", highlight=False)


def _draw(record: dict[str, Any], arguments: argparse.Namespace, files: list[Path]) -> None:
    if arguments.plot is not None:
        plot_speed(record, arguments.plot)
    if arguments.out is not None:
        try:
            plot_speed(record, str(files[-1].with_suffix(".svg")))
        except RunError as error:  # the figures are kept, and can be drawn elsewhere
            print(f"rebatch: {error}; draw {files[-1]} with rebatch bench show", file=sys.stderr)


def plot_speed(record: dict[str, Any], path: str) -> None:
    """Draw a record."""
    from rebatch.report import write
    from rebatch.report._speed_figure import speed_picture

    write(path, speed_picture(record, Path(path).suffix[1:].lower()))
