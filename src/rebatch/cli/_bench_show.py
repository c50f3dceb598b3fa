"""``rebatch bench show``: the tables and the picture of a record again."""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rebatch.cli._bench_parts import (
    show_gauges,
    show_overhead,
    show_packing,
    show_profile,
    show_switching,
)
from rebatch.cli._bench_speed import plot_speed, show_speed
from rebatch.cli._picture import check_picture
from rebatch.errors import InputError

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]

SHOWN: dict[str, tuple[str, Callable[[dict[str, Any]], None]]] = {
    "gpu": ("cells", show_speed),
    "cpu": ("cells", show_speed),
    "switching": ("steps", show_switching),
    "overhead": ("parts", show_overhead),
    "gauges": ("sizes", show_gauges),
    "packing": ("levels", show_packing),
    "profile": ("kernels", show_profile),
}
"""Where a record of each kind has its figures, and what prints them."""
_EXAMPLES = """\
examples:
  rebatch bench show results/bench/cpu-amd-epyc.json --plot speed.svg
  rebatch bench show results/bench/cpu-amd-epyc.json --markdown
  rebatch bench show results/bench/overhead-amd-epyc.json
"""


def add_show(benches: "Commands") -> None:
    """Add the command."""
    show = benches.add_parser(
        "show",
        help="the tables and the picture of a record again",
        description="Print a record of rebatch bench again; feeding has none.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    show.add_argument("record", metavar="FILE", help="what --out wrote")
    show.add_argument("--plot", metavar="FILE", help="of gpu or cpu: also draw it, .png or .svg")
    show.add_argument(
        "--markdown", action="store_true", help="of gpu or cpu: print the tables as Markdown"
    )
    show.set_defaults(run=run_show)


def run_show(arguments: argparse.Namespace) -> None:
    """Print the tables of a record, and draw it."""
    record = _read(arguments.record)
    check_picture(arguments.plot)
    _, show = SHOWN[record["kind"]]
    if (arguments.plot or arguments.markdown) and show is not show_speed:
        raise InputError(f"record must be of gpu or cpu for that, got one of {record['kind']}")
    if arguments.markdown:
        from rebatch.report._speed import speed_markdown

        print(speed_markdown(record), end="")
    else:
        show(record)
    if arguments.plot is not None:
        plot_speed(record, arguments.plot)


def _read(file: str) -> dict[str, Any]:
    from rebatch.records import read_json

    if not Path(file).is_file():
        raise InputError(f"record must be a file that rebatch bench wrote, got {file}")
    record = read_json(Path(file))
    figures, _ = SHOWN.get(record.get("kind", ""), ("", None))
    if figures not in record:
        raise InputError(f"record must be a file that rebatch bench wrote, got {file}")
    return record
