"""``rebatch data``: list, fetch and verify data sets."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rebatch.data.sets import DataSet

app = typer.Typer(help="Data sets: where they are, fetch them, verify them.", no_args_is_help=True)

Data = Annotated[
    Path | None,
    typer.Option("--data", help="Folder of all data sets; else $REBATCH_DATA or ~/.cache/rebatch."),
]


@app.command("list")
def list_sets(data: Data = None) -> None:
    """Show every data set, where it is expected and whether it is there."""
    from rich.box import SIMPLE
    from rich.console import Console
    from rich.table import Table

    from rebatch.data.sets import SETS, data_root

    root = data_root(data)
    table = Table("name", "what", "folder", "there", "size", box=SIMPLE)
    for data_set in SETS:
        where = data_set.folder or "(in the package)"
        table.add_row(data_set.name, data_set.what, where, *_state(data_set, root))
    Console().print(f"Data sets in {root}", table, sep="\n", highlight=False)


@app.command("get")
def get_set(
    name: Annotated[str, typer.Argument(help="A data set, as `rebatch data list` names it.")],
    data: Data = None,
) -> None:
    """Download a data set from its official address, verify and unpack it."""
    from rebatch.data.sets import data_root, find
    from rebatch.data.sets.fetch import get

    typer.echo(get(find(name), data_root(data), progress=sys.stderr.isatty()))


@app.command("check")
def check_sets(
    names: Annotated[
        list[str] | None, typer.Argument(help="Data sets; without any, all that are there.")
    ] = None,
    data: Data = None,
) -> None:
    """Verify files, counts and recorded checksums; exit 1 with a line for each problem."""
    from rebatch.data.sets import SETS, data_root, find
    from rebatch.data.sets.check import check

    root = data_root(data)
    chosen = [find(name) for name in names or ()] or [each for each in SETS if each.begun(root)]
    verdicts = {data_set.name: check(data_set, root) for data_set in chosen}
    for name, verdict in verdicts.items():
        if not verdict.problems:
            typer.echo(f"{name}: {verdict}")
        for problem in verdict.problems:
            typer.echo(f"{name}: {problem}", err=True)
    if any(verdict.problems for verdict in verdicts.values()):
        raise typer.Exit(1)


def _state(data_set: "DataSet", root: Path) -> tuple[str, str]:
    from rich.filesize import decimal

    size = data_set.size(root)
    there = "yes" if data_set.layout(root) else "in part" if size else "no"
    return there, decimal(size) if size else ""
