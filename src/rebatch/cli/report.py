"""``rebatch report``: tables and curves of runs as one page."""

import argparse
from pathlib import Path
from typing import Any


def register(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "report",
        help="tables and curves of runs as one self-contained page",
        description="Read the records of all finished runs below a folder and write one HTML page, "
        "or with -o FILE.md the paper's tables with ours beside them as Markdown.",
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
    if target.suffix == ".md":
        print(write(target, f"# {arguments.title}\n\n{reproduction(arguments.folder)}"))
    else:
        print(write(target, results_page(arguments.folder, arguments.title)))
