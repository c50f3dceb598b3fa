"""``rebatch bench switching``, ``overhead``, ``gauges`` and the like: all but the update itself."""

import argparse
import os
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rebatch.cli._bench_speed import add_common, check_settings, name_of, set_threads
from rebatch.cli._numbers import number, whole
from rebatch.errors import RunError

if TYPE_CHECKING:
    from torch import device as Device

    Commands = argparse._SubParsersAction[argparse.ArgumentParser]

_SWITCHING = """\
Train L1 (on a CPU a small L1) on a generated text through cycles of CBS-2:
10, 20, 40 and 80 columns, two epochs each. Compare the first epoch at a size
with the second. What is captured or compiled in the first cycle is used again,
so later cycles must not pay for changing sizes.
"""
_SWITCHING_EXAMPLES = """\
examples:
  rebatch bench switching --quick
  rebatch bench switching --engine graphs --out results/bench

On a CPU take --quick: the whole text takes it hours.
"""
_OVERHEAD = """\
Train L1 (on a CPU a small L1) and say how long the parts of the loop take
beside the update itself: learning rate, sampler, tally, log. A profile of the
functions goes to the record.
"""
_OVERHEAD_EXAMPLES = """\
examples:
  rebatch bench overhead --updates 20
  rebatch bench overhead --engine graphs --out results/bench

The updates are made seven times: to warm up, in five rounds of which the best
counts, and under a profiler. On a CPU 200 of them take some minutes.
"""
_GAUGES = """\
Train L1 (on a CPU a small L1) at the sizes of AUTO's cycle and say how much
longer an update takes that measures the gradient noise, and what that adds to
the time of a cycle when as many are measured as in a run of AUTO.
"""
_GAUGES_EXAMPLES = """\
examples:
  rebatch bench gauges --quick
  rebatch bench gauges --model C1 --out results/bench
"""
_PROFILE = """\
Train one model at one batch size and say where the time of an update goes on
the device: every kernel by name, how often it runs and how long; on a CPU
every operator. The rest of an update is waiting: for the CPU, for memory
between two kernels, or for data.
"""
_PROFILE_EXAMPLES = """\
examples:
  rebatch bench profile --model C2 --size 128
  rebatch bench profile --model L2 --size 40 --out results/bench
"""
_PACKING = """\
Train L1 (on a CPU a small L1) in one process, then in several at once, as a
sweep does: on a GPU under CUDA's multi-process service. Say how many updates a
second they make together.
"""
_PACKING_EXAMPLES = """\
examples:
  rebatch bench packing --jobs 4,8 --out results/bench
  rebatch bench packing --model C3 --size 128 --jobs 2,4
"""


def add_parts(benches: "Commands") -> None:
    """Add the commands."""
    switching = benches.add_parser(
        "switching",
        help="what it costs to change the batch size",
        description=_SWITCHING,
        epilog=_SWITCHING_EXAMPLES,
    )
    switching.add_argument("--cycles", metavar="N", default="2", help="(default: 2)")
    switching.set_defaults(run=run_switching)
    overhead = benches.add_parser(
        "overhead",
        help="what the loop costs beside the update",
        description=_OVERHEAD,
        epilog=_OVERHEAD_EXAMPLES,
    )
    overhead.add_argument("--size", metavar="B", default="10", help="batch size (default: 10)")
    overhead.add_argument("--updates", metavar="N", default="200", help="(default: 200)")
    overhead.set_defaults(run=run_overhead)
    gauges = benches.add_parser(
        "gauges",
        help="what measuring the gradient noise costs under AUTO",
        description=_GAUGES,
        epilog=_GAUGES_EXAMPLES,
    )
    gauges.add_argument("--seconds", metavar="S", default="1", help="of a turn (default: 1)")
    gauges.set_defaults(run=run_gauges)
    profile = benches.add_parser(
        "profile",
        help="which kernels an update spends its time in",
        description=_PROFILE,
        epilog=_PROFILE_EXAMPLES,
    )
    profile.add_argument("--size", metavar="B", default="10", help="batch size (default: 10)")
    profile.add_argument("--updates", metavar="N", default="50", help="(default: 50)")
    profile.set_defaults(run=run_profile)
    packing = benches.add_parser(
        "packing",
        help="what several runs at once gain over one at a time",
        description=_PACKING,
        epilog=_PACKING_EXAMPLES,
    )
    packing.add_argument("--size", metavar="B", default="20", help="batch size (default: 20)")
    packing.add_argument("--jobs", metavar="N,M", default="2,4,8", help="(default: 2,4,8)")
    packing.add_argument("--seconds", metavar="S", default="5", help="of a level (default: 5)")
    packing.set_defaults(run=run_packing)
    for parser in (switching, overhead, gauges, profile, packing):
        parser.formatter_class = argparse.RawDescriptionHelpFormatter
        parser.add_argument("--model", metavar="MODEL", help="another model, such as C3")
        parser.add_argument("--device", metavar="D", default="auto", help="auto, cpu or cuda")
        add_common(parser)
        parser.add_argument("--out", metavar="DIR", help="write the record, named by the device")


def run_switching(arguments: argparse.Namespace) -> None:
    """Measure, print a row for each step, and write the record."""
    from rebatch.bench.switching import EPOCHS, measure_switching
    from rebatch.cli._progress import steps

    device = _device(arguments)
    model, cycles = _model(arguments, device), whole("cycles", arguments.cycles) or 2
    record = _begun(arguments, "switching", device, model=model, cycles=cycles)
    with steps(EPOCHS * cycles) as tell:
        found = measure_switching(
            device, model=model, cycles=cycles, tell=tell, **_options(arguments)
        )
    record["steps"] = [{**asdict(step), "excess": step.excess} for step in found]
    show_switching(record)
    _write(arguments, record)


def show_switching(record: dict[str, Any]) -> None:
    """Print a row for each step."""
    from rebatch.bench.switching import ALLOWED

    rows = [
        (
            f"{step['cycle']}",
            f"{step['batch_size']}",
            *(f"{step[epoch]:.3f} s" for epoch in ("first", "second")),
            f"{100 * step['excess']:+.1f} %",
        )
        for step in record["steps"]
    ]
    _print(("cycle", "batch", "first epoch", "second epoch", "first against second"), rows)
    print(f"after cycle 0 at most {100 * ALLOWED:+g} % is asked for")


def run_overhead(arguments: argparse.Namespace) -> None:
    """Measure, print a row for each part, and write the record."""
    from rebatch.bench.cells import Cell
    from rebatch.bench.overhead import measure_overhead
    from rebatch.cli._progress import steps

    device = _device(arguments)
    updates = whole("updates", arguments.updates) or 200
    cell = Cell(_model(arguments, device), whole("size", arguments.size) or 10)
    asked = {"model": cell.model, "batch_size": cell.batch_size, "updates": updates}
    record = _begun(arguments, "overhead", device, **asked)
    with steps(7) as tell:
        found = measure_overhead(
            device, cell=cell, updates=updates, tell=tell, **_options(arguments)
        )
    record |= {"share": found.share, **asdict(found)}
    show_overhead(record)
    _write(arguments, record)


def show_overhead(record: dict[str, Any]) -> None:
    """Print a row for each part."""
    from rebatch.bench.overhead import ALLOWED

    parts: dict[str, float] = record["parts"]
    total = sum(parts.values())
    rows = [
        (name, f"{each:,.1f} us", f"{100 * each / total:.2f} %")
        for name, each in sorted(parts.items(), key=lambda part: -part[1])
    ]
    _print((f"{record['model']} at {record['batch_size']}", "an update", "share"), rows)
    print(f"all but the update and waiting for it: {100 * record['share']:.2f} %")
    print(f"asked is less than {100 * ALLOWED:g} % beside L1 at 10 on a GPU")


def run_gauges(arguments: argparse.Namespace) -> None:
    """Measure, print a row for each batch size, and write the record."""
    from rebatch.bench.gauges import FACTORS, ROUNDS, measure_gauges, share_of
    from rebatch.cli._progress import steps

    device = _device(arguments)
    model = _model(arguments, device)
    seconds = number("seconds", arguments.seconds) or 1.0
    record = _begun(arguments, "gauges", device, model=model, seconds=seconds)
    with steps(len(FACTORS) * 2 * (1 + ROUNDS)) as tell:
        found = measure_gauges(
            device, model=model, seconds=seconds, tell=tell, **_options(arguments)
        )
    record |= {"share": share_of(found), "sizes": [asdict(each) for each in found]}
    show_gauges(record)
    _write(arguments, record)


def show_gauges(record: dict[str, Any]) -> None:
    """Print a row for each batch size, and what the gauges add all in all."""
    from rebatch.bench.gauges import ALLOWED

    rows = [
        (
            f"{size['batch_size']}",
            *(f"{1000 * size[f'{kind}_seconds']:,.2f} ms" for kind in ("plain", "measured")),
            f"{size['measured']:,} of {size['updates']:,}",
        )
        for size in record["sizes"]
    ]
    title = f"{record['model']} at"
    _print((title, "an update", "a measured one", "measured in an epoch"), rows)
    print(
        f"gauges add {100 * record['share']:.2f} % to an epoch at each size; "
        f"asked is less than {100 * ALLOWED:g} %"
    )


def run_profile(arguments: argparse.Namespace) -> None:
    """Measure, print a row for each kernel, and write the record."""
    os.environ.setdefault("KINETO_LOG_LEVEL", "99")  # the profiler's own lines: read with torch
    from rebatch.bench.cells import Cell
    from rebatch.bench.profile import measure_profile
    from rebatch.cli._progress import steps

    device = _device(arguments)
    updates = whole("updates", arguments.updates) or 50
    cell = Cell(_model(arguments, device), whole("size", arguments.size) or 10)
    asked = {"model": cell.model, "batch_size": cell.batch_size, "updates": updates}
    record = _begun(arguments, "profile", device, **asked)
    with steps(4) as tell:
        found = measure_profile(
            device, cell=cell, updates=updates, tell=tell, **_options(arguments)
        )
    record |= asdict(found)
    show_profile(record)
    _write(arguments, record)


def show_profile(record: dict[str, Any], most: int = 30) -> None:
    """Print a row for each kernel, the longest first, and what they leave of an update."""
    kernels = record["kernels"]
    busy = sum(each for *_, each in kernels)
    shown = [(name, calls, each) for name, calls, each in kernels[:most]]
    if len(kernels) > most:
        rest = kernels[most:]
        calls = sum(calls for _, calls, _ in rest)
        shown.append((f"{len(rest)} others", calls, sum(each for *_, each in rest)))
    rows = [
        (name[:40], f"{calls:,.3g}", f"{each:,.1f} us", f"{100 * each / busy:.1f} %")
        for name, calls, each in shown
    ]
    title = f"{record['model']} at {record['batch_size']}"
    _print((title, "an update", "own time", "of all"), rows)
    whole = record["whole"]
    print(f"an update takes {whole:,.1f} us, its kernels {busy:,.1f} us under the profiler")


def run_packing(arguments: argparse.Namespace) -> None:
    """Measure, print a row for each level, and write the record."""
    from rebatch.bench.cells import Cell
    from rebatch.bench.packing import measure_packing
    from rebatch.cli._progress import steps

    device = _device(arguments)
    jobs = [whole("jobs", part) or 1 for part in arguments.jobs.split(",")]
    cell = Cell(_model(arguments, device), whole("size", arguments.size) or 20)
    seconds = number("seconds", arguments.seconds) or 5.0
    asked = {"model": cell.model, "batch_size": cell.batch_size, "jobs": jobs, "seconds": seconds}
    record = _begun(arguments, "packing", device, **asked)
    with steps(1 + len({1, *jobs})) as tell:
        levels, served = measure_packing(
            device, cell=cell, jobs=jobs, seconds=seconds, tell=tell, **_options(arguments)
        )
    record |= {"service": served, "levels": [asdict(level) for level in levels]}
    show_packing(record)
    _write(arguments, record)


def show_packing(record: dict[str, Any]) -> None:
    """Print a row for each number of runs at once."""
    from rebatch.bench.packing import ASKED

    together = [sum(level["each"]) for level in record["levels"]]
    rows = [
        (f"{level['jobs']}", f"{speed:,.1f}", f"{speed / together[0]:.2f}x")
        for level, speed in zip(record["levels"], together, strict=True)
    ]
    _print(("runs at once", "updates a second together", "against one"), rows)
    served = "under CUDA's multi-process service" if record["service"] else "without a service"
    print(f"{record['model']} at {record['batch_size']}, {served}; asked on a GPU is {ASKED:g}x")


def _model(arguments: argparse.Namespace, device: "Device") -> str:
    from rebatch.bench.cells import check_model

    model: str = arguments.model or ("L1" if device.type == "cuda" else "L1-small")
    check_model("model", model)
    return model


def _device(arguments: argparse.Namespace) -> "Device":
    from rebatch.engine.precision import choose_device

    set_threads(arguments)
    device = choose_device(arguments.device)
    _make_room(arguments)
    return device


def _make_room(arguments: argparse.Namespace) -> None:
    """Make the folder: a place that cannot be written is known before the minutes."""
    if arguments.out is not None:
        try:
            Path(arguments.out).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RunError(f"{arguments.out} could not be written: {error.strerror}") from None


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


def _begun(
    arguments: argparse.Namespace, what: str, device: "Device", **asked: Any
) -> dict[str, Any]:
    """Return the record that is to be made, without its figures, if there is room for it."""
    from rebatch.bench.machine import machine
    from rebatch.records import read_json

    settings = {"engine": arguments.engine, "settings": arguments.set, "quick": arguments.quick}
    record = {"kind": what, **machine(device), **settings, **asked}
    file = _file(arguments, record)
    if file is not None and file.exists():
        check_settings(str(file), read_json(file), record)
    return record


def _file(arguments: argparse.Namespace, record: dict[str, Any]) -> Path | None:
    """Return where ``--out`` keeps a record: some kinds are kept apart by what is asked."""
    if arguments.out is None:
        return None
    apart = {"gauges": ("model",), "profile": ("model", "batch_size")}
    more = (str(record[name]).lower() for name in apart.get(record["kind"], ()))
    name = name_of({**record, "kind": "-".join([record["kind"], *more])})
    return Path(arguments.out) / f"{name}.json"


def _write(arguments: argparse.Namespace, record: dict[str, Any]) -> None:
    from rebatch.records import write_json

    file = _file(arguments, record)
    if file is not None:
        write_json(file, record)
