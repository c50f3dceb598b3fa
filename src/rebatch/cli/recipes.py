"""``rebatch recipes``: what can be run."""

import argparse
import json
from textwrap import fill
from typing import Any

EPILOG = """\
Every cell of the paper's tables is one command, for instance
  rebatch train c2-cifar10 --schedule CBS-15 --out runs/c2
A field of a recipe is changed with --set; 'rebatch recipes NAME' shows all.
Controls are asked for with --variant:
"""


def register(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "recipes",
        help="every recipe, with its data set and cost",
        description="List every recipe, or show one in full.",
        epilog=EPILOG + _variants(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("name", nargs="?", help="show all fields of this recipe")
    parser.add_argument("--json", action="store_true", help="as JSON")
    parser.set_defaults(run=run_recipes)


def run_recipes(arguments: argparse.Namespace) -> None:
    """Print the recipes, or one of them."""
    from rich.box import SIMPLE
    from rich.console import Console
    from rich.table import Table

    from rebatch.recipes import RECIPES, case, find

    if arguments.name:
        fields = find(arguments.name).to_dict()
        if arguments.json:
            print(json.dumps(fields))
        else:
            width = max(map(len, fields))
            print("\n".join(f"{name:{width}}  {value}" for name, value in fields.items()))
        return
    if arguments.json:
        print(json.dumps([recipe.to_dict() for recipe in RECIPES.values()]))
        return
    table = Table(box=SIMPLE, pad_edge=False)
    table.add_column("recipe", no_wrap=True)
    table.add_column("what", overflow="fold")  # what a narrow terminal breaks
    for title in ("epochs", "updates"):
        table.add_column(title, justify="right", no_wrap=True)
    for recipe in RECIPES.values():
        updates = [case(recipe, code).plan().updates for code in recipe.schedules]
        cost = f"{min(updates):,}–{max(updates):,}" if len(updates) > 1 else f"{updates[0]:,}"
        table.add_row(recipe.name, recipe.about, str(recipe.epochs), cost)
    Console().print(table)
    print("updates: of the shortest and the longest of the paper's schedules")
    print("data sets: rebatch data list; one recipe in full: rebatch recipes NAME")
    print("variants (controls): rebatch recipes --help")


def _variants() -> str:
    from rebatch.recipes import VARIANTS

    said = {name: (make.__doc__ or "").strip() for name, make in VARIANTS.items()}
    said["snapshots-as-CODE"] = "Take snapshots where the cycles of CODE end."
    return "\n".join(
        fill(text, 79, initial_indent=f"  {name:18}", subsequent_indent=" " * 20)
        for name, text in said.items()
    )
