"""``rebatch report``: tables and curves of runs as one page."""

import argparse
from pathlib import Path
from typing import Any

from rebatch.errors import InputError

EXAMPLES = """\
examples:
  rebatch report runs
  rebatch report reproduction -o page.html --title "All runs"
  rebatch report results -o results.md

The page shows every table of the paper that something was run of, ours beside
theirs, and for each recipe its runs, its curves by update and by epoch, and
what adaptive schedules decided. It is one file that needs no network. The
Markdown form has every cell of every table, run or not."""
ABOUT = """\
Read the records of all finished runs below a folder and write one HTML page, or
with -o FILE.md the paper's tables with ours beside them as Markdown."""
PAGES = (".html", ".htm", ".md")


def register(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "report",
        help="tables and curves of runs as one self-contained page",
        description=ABOUT,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("folder", type=Path, metavar="DIR", help="holds run folders at any depth")
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="default: DIR/report.html"
    )
    parser.add_argument("--title", default="rebatch: results", help="heading of the page")
    parser.set_defaults(run=run_report)


def run_report(arguments: argparse.Namespace) -> None:
    """Write the page and say where it is."""
    from rebatch.report import reproduction, results_page, write

    target = arguments.output or arguments.folder / "report.html"
    if target.suffix not in PAGES:
        raise InputError(f"output must end in .html or .md, got {target}")
    if target.suffix == ".md":
        print(write(target, reproduction(arguments.folder, arguments.title)))
    else:
        print(write(target, results_page(arguments.folder, arguments.title)))
