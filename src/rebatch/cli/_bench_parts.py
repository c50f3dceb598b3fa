"""``rebatch bench switching`` and ``overhead``: what changing sizes costs, and the loop itself."""

import argparse
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rebatch.cli._bench_speed import add_common, set_threads
from rebatch.cli._numbers import whole

if TYPE_CHECKING:
    from torch import device as Device

    Commands = argparse._SubParsersAction[argparse.ArgumentParser]

_SWITCHING = """\
Train L1 on a generated text through cycles of CBS-2 (10, 20, 40, 80 columns, two epochs each) and
compare the first epoch at a size with the second. What is captured or compiled in the first cycle
is used again, so later cycles must not pay for changing sizes.
"""
_OVERHEAD = """\
Train a model (default: L1 at 10 on a GPU, a small L1 on a CPU) and say how long the parts of the
loop take beside the update itself: learning rate, sampler, tally, log. A profile of the functions
goes to the record.
"""


def add_parts(benches: "Commands") -> None:
    """Add the two commands."""
    switching = benches.add_parser(
        "switching", help="what it costs to change the batch size", description=_SWITCHING
    )
    switching.add_argument("--cycles", metavar="N", default="2", help="(default: 2)")
    switching.set_defaults(run=run_switching)
    overhead = benches.add_parser(
        "overhead", help="what the loop costs beside the update", description=_OVERHEAD
    )
    overhead.add_argument("--size", metavar="B", default="10", help="batch size (default: 10)")
    overhead.add_argument("--updates", metavar="N", default="200", help="(default: 200)")
    overhead.set_defaults(run=run_overhead)
    for parser in (switching, overhead):
        parser.formatter_class = argparse.RawDescriptionHelpFormatter
        parser.add_argument("--model", metavar="MODEL", help="another model, such as C3")
        parser.add_argument("--device", metavar="D", default="auto", help="auto, cpu or cuda")
        add_common(parser)
        parser.add_argument("--out", metavar="DIR", help="write the record, named by the device")


def run_switching(arguments: argparse.Namespace) -> None:
    """Measure, print a row for each step, and write the record."""
    from rebatch.bench.switching import ALLOWED, measure_switching

    device = _device(arguments)
    found = measure_switching(
        device,
        model=arguments.model or "L1",
        cycles=whole("cycles", arguments.cycles) or 2,
        **_options(arguments),
    )
    rows = [
        (
            f"{step.cycle}",
            f"{step.batch_size}",
            *(f"{seconds:.3f} s" for seconds in (step.first, step.second)),
            f"{100 * step.excess:+.1f} %",
        )
        for step in found
    ]
    _print(("cycle", "batch", "first epoch", "second epoch", "first against second"), rows)
    print(f"after cycle 0 at most {100 * ALLOWED:+g} % is asked for")
    steps = [{**asdict(step), "excess": step.excess} for step in found]
    _write(arguments, "switching", device, {"steps": steps})


def run_overhead(arguments: argparse.Namespace) -> None:
    """Measure, print a row for each part, and write the record."""
    from rebatch.bench.cells import Cell
    from rebatch.bench.overhead import ALLOWED, measure_overhead

    device = _device(arguments)
    model = arguments.model or ("L1" if device.type == "cuda" else "L1-small")
    updates = whole("updates", arguments.updates) or 200
    cell = Cell(model, whole("size", arguments.size) or 10)
    found = measure_overhead(device, cell=cell, updates=updates, **_options(arguments))
    rows = [
        (name, f"{each:.1f} us", f"{100 * each / found.total:.2f} %")
        for name, each in sorted(found.parts.items(), key=lambda part: -part[1])
    ]
    _print((cell.name, "an update", "share"), rows)
    print(f"all but the update and waiting for it: {100 * found.share:.2f} %", end="")
    print(f" (asked: under {100 * ALLOWED:g} % of L1 at 10 on a GPU)")
    values = {"model": model, "batch_size": cell.batch_size, "share": found.share}
    _write(arguments, "overhead", device, {**values, **asdict(found)})


def _device(arguments: argparse.Namespace) -> "Device":
    from rebatch.engine.precision import choose_device

    set_threads(arguments)
    return choose_device(arguments.device)


def _options(arguments: argparse.Namespace) -> dict[str, Any]:
    return {
        "share": 0.01 if arguments.quick else 1.0,
        "engine": arguments.engine,
        "settings": tuple(arguments.set),
    }


def _print(columns: tuple[str, ...], rows: Sequence[Sequence[str]]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(columns[0])
    for name in columns[1:]:
        table.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(*row)
    Console().print(table)


def _write(
    arguments: argparse.Namespace, what: str, device: "Device", found: dict[str, Any]
) -> None:
    from rebatch.bench.machine import file_name, machine
    from rebatch.records import write_json

    if arguments.out is None:
        return
    settings = {"engine": arguments.engine, "settings": arguments.set, "quick": arguments.quick}
    record = {"kind": what, **machine(device), **settings, **found}
    write_json(Path(arguments.out) / f"{file_name(what, record)}.json", record)
