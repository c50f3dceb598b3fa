"""``rebatch data``: list, fetch and verify data sets."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rebatch.data.sets import DataSet


def register(commands: Any) -> None:
    """Add the command and its three parts."""
    about = "data sets: where they are, fetch them, verify them"
    parser = commands.add_parser("data", help=about, description=f"{about.capitalize()}.")
    parts = parser.add_subparsers(metavar="PART", required=True, parser_class=type(parser))
    shown = parts.add_parser("list", help="every data set, and whether it is there")
    fetched = parts.add_parser("get", help="download, verify and unpack a data set")
    fetched.add_argument("name", help="a data set, as 'rebatch data list' names it")
    checked = parts.add_parser("check", help="verify files, counts and checksums")
    checked.add_argument("names", nargs="*", metavar="name", help="default: all that are there")
    for part, function in ((shown, list_sets), (fetched, get_set), (checked, check_sets)):
        help_text = "folder of all data sets; else $REBATCH_DATA or ~/.cache/rebatch"
        part.add_argument("--data", type=Path, metavar="DIR", help=help_text)
        part.set_defaults(run=function)


def list_sets(arguments: argparse.Namespace) -> None:
    """Show every data set, where it is expected and whether it is there."""
    from rich.box import SIMPLE
    from rich.console import Console
    from rich.table import Table

    from rebatch.data.sets import SETS, data_root

    root = data_root(arguments.data)
    table = Table("name", "what", "folder", "there", "size", box=SIMPLE)
    for data_set in SETS:
        where = data_set.folder or "(in the package)"
        table.add_row(data_set.name, data_set.what, where, *_state(data_set, root))
    Console().print(f"Data sets in {root}", table, sep="\n", highlight=False)


def get_set(arguments: argparse.Namespace) -> None:
    """Download a data set from its official address, verify and unpack it."""
    from rebatch.data.sets import data_root, find
    from rebatch.data.sets.fetch import get

    data_set = find(arguments.name)
    print(get(data_set, data_root(arguments.data), progress=sys.stderr.isatty()))


def check_sets(arguments: argparse.Namespace) -> int:
    """Verify files, counts and recorded checksums; 1 with a line for each problem."""
    from rebatch.data.sets import SETS, data_root, find
    from rebatch.data.sets.check import check

    root = data_root(arguments.data)
    named = [find(name) for name in arguments.names]
    chosen = named or [each for each in SETS if each.begun(root)]
    verdicts = {data_set.name: check(data_set, root) for data_set in chosen}
    for name, verdict in verdicts.items():
        if not verdict.problems:
            print(f"{name}: {verdict}")
        for problem in verdict.problems:
            print(f"{name}: {problem}", file=sys.stderr)
    return int(any(verdict.problems for verdict in verdicts.values()))


def _state(data_set: "DataSet", root: Path) -> tuple[str, str]:
    from rich.filesize import decimal

    size = data_set.size(root)
    there = "yes" if data_set.layout(root) else "in part" if size else "no"
    return there, decimal(size) if size else ""
