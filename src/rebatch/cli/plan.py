"""``rebatch plan``: what a schedule costs and when its cycles end, before any training."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from rebatch._course import expected
from rebatch._plan import Plan, baseline
from rebatch._plan import plan as make_plan
from rebatch.cli._numbers import whole
from rebatch.cli._picture import check_picture
from rebatch.cli._scaling import add_scaling, clusters
from rebatch.errors import InputError
from rebatch.policies import Policy
from rebatch.scaling import Cluster, compared
from rebatch.schedules import Clock, Schedule, constant, parse

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]

GALLERY = ("CBS-5", "CBS-5-A", "CBS-5-T", "CBS-1", "CBS-1-A", "CBS-1-T")
"""The three shapes of the paper in a wide and a narrow form.  Its figure 1 shows six schedules
that start at 10 and does not name them."""
GALLERY_BASE, GALLERY_EPOCHS = 10, 60
PENN_TREEBANK = {"tokens": 929_589, "bptt": 35}

_DESCRIPTION = """\
Show what a batch-size schedule will do before training with it: the rows of the
plan, how many updates it takes, when its cycles end, and what it saves against
a constant batch size.

CODE is one of
  BL, CBS-k[-n], also with -A or -T    the paper's codes; they need --base
  "0:768 250B:1536"                    thresholds; in samples, or see --clock
  "linear(8, 64, length=5)"            a call of any shape of rebatch
  AUTO, GNS, PLATEAU, ABSA             policies, which decide while they train:
                                       what is shown of them is an estimate
"""
_EPILOG = """\
examples:
  rebatch plan CBS-5-3-A --base 128 --epochs 90 --examples 50000
  rebatch plan CBS-10 --base 10 --epochs 39 --tokens 929589 --bptt 35
  rebatch plan BL CBS-5 CBS-5-A CBS-5-T --base 10 --epochs 60 --examples 60000
  rebatch plan "0:768 250B:1536" --samples 500B
  rebatch plan CBS-5 --base 10 --epochs 40 --examples 50000 --plot plan.html
  rebatch plan --recipe l1-ptb --schedule CBS-10
  rebatch plan --recipe l1-ptb --schedule AUTO
  rebatch plan --gallery --plot gallery.svg
  rebatch plan CBS-10-3 --base 256 --epochs 90 --examples 1281167 --ranks 64

Numbers may end in K, M, B or T.
"""


def register(commands: "Commands") -> None:
    """Add ``rebatch plan`` to the command line."""
    parser = commands.add_parser(
        "plan",
        help="the plan of a schedule as a table, as JSON, as a picture",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("codes", metavar="CODE", nargs="*", help="one or more schedules")
    _add_recipe(parser)
    _add_schedule(parser)
    _add_data(parser)
    add_scaling(parser)
    _add_output(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """Make the plans, write the picture if one is wanted, and print them."""
    check_picture(arguments.plot, ".html")
    plans = _plans(arguments)
    size = whole("baseline", arguments.baseline)
    machines = clusters(arguments)
    for made in plans if size else ():
        baseline(made, size)  # what cannot be compared is refused before anything is printed
    if arguments.plot is not None:
        _plot(plans, size, arguments.plot)
    if arguments.json:
        _print_json(plans, size, machines)
    else:
        _print(plans, size, machines, arguments.plot)
    for note in dict.fromkeys(note for made in plans for note in made.notes):
        print(f"rebatch: note: {note}", file=sys.stderr)


def _add_recipe(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("recipe, instead of all that follows but the output")
    group.add_argument(
        "--recipe", metavar="NAME", help="plan this recipe: without a CODE, all its schedules"
    )
    group.add_argument("--schedule", metavar="CODE", help="the same as CODE, as in rebatch train")
    group.add_argument("--variant", metavar="NAME", help="a control of the recipe")
    group.add_argument(
        "--set",
        action="append",
        dest="settings",
        metavar="FIELD=VALUE",
        help="change a field of it",
    )


def _add_schedule(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("schedule")
    group.add_argument("--base", metavar="B", help="batch size of the first step")
    group.add_argument(
        "--clock", metavar="C", help="what the schedule counts: epochs, updates, samples or tokens"
    )
    group.add_argument(
        "--gallery", action="store_true", help="the paper's shapes, with nothing else to say"
    )


def _add_data(parser: argparse.ArgumentParser) -> None:
    data = parser.add_argument_group("data")
    data.add_argument("--examples", metavar="N", help="examples in an epoch")
    data.add_argument("--tokens", metavar="T", help="or: tokens in an epoch, read in columns")
    data.add_argument("--bptt", metavar="L", help="with --tokens: length of a segment, often 35")
    data.add_argument("--drop-last", action="store_true", help="leave out the short last batch")
    data.add_argument(
        "--tokens-per-example", metavar="L", help="for a schedule that counts tokens of examples"
    )
    length = parser.add_argument_group("length of training (one of these)")
    for name, letter in (("epochs", "E"), ("updates", "U"), ("samples", "S")):
        length.add_argument(f"--{name}", metavar=letter)


def _add_output(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("output")
    group.add_argument(
        "--baseline", metavar="B0", help="batch size to compare the cost with (default: the base)"
    )
    group.add_argument("--json", action="store_true", help="print the plan as JSON")
    group.add_argument("--plot", metavar="FILE", help="also draw it: .png, .svg or .html")


def _plans(arguments: argparse.Namespace) -> list[Plan]:
    if arguments.schedule is not None:
        arguments.codes.append(arguments.schedule)
    if arguments.recipe is not None:
        return _plans_of_recipe(arguments)
    for name, given in (("variant", arguments.variant), ("set", arguments.settings)):
        if given is not None:
            raise InputError(f"{name} must be given with --recipe, got {given!r} alone")
    if arguments.gallery:
        _set_gallery(arguments)
    if not arguments.codes:
        raise InputError("schedule must be given, as a code such as CBS-5, got none")
    base = whole("base", arguments.base)
    clock = cast(Clock | None, arguments.clock)
    schedules = [parse(code, base, clock=clock) for code in arguments.codes]
    names = ("epochs", "updates", "samples", "examples", "tokens", "bptt", "tokens_per_example")
    numbers = {name: whole(name, getattr(arguments, name)) for name in names}
    return [_planned(schedule, arguments.drop_last, numbers) for schedule in schedules]


def _planned(schedule: Schedule | Policy, drop_last: bool, numbers: dict[str, int | None]) -> Plan:
    """Return the plan, or what is to be expected of one that is made while training."""
    if isinstance(schedule, Schedule):
        return make_plan(schedule, drop_last=drop_last, **numbers)
    if numbers["epochs"] is None:
        raise InputError(f"epochs must be given with {schedule}, got none")
    known = make_plan(constant(schedule.base), drop_last=drop_last, **numbers)
    return expected(schedule, known.amount, numbers["epochs"])


def _plans_of_recipe(arguments: argparse.Namespace) -> list[Plan]:
    """Plan a recipe on the official amount of its data, beside its own baseline."""
    from rebatch.recipes import case, find, override

    names = ("base", "clock", "gallery", "examples", "tokens", "bptt", "drop_last")
    for name in (*names, "tokens_per_example", "epochs", "updates", "samples"):
        if getattr(arguments, name) not in (None, False):
            raise InputError(f"{name} must not be given with --recipe, which has its own, got it")
    recipe = override(find(arguments.recipe), arguments.settings or ())
    if arguments.baseline is None:
        arguments.baseline = str(recipe.baseline_batch_size)
    codes = arguments.codes or recipe.schedules
    return [case(recipe, code, arguments.variant).expected() for code in codes]


def _set_gallery(arguments: argparse.Namespace) -> None:
    """Fill in what the gallery does not need to be told: base 10, 60 epochs, Penn Treebank."""
    if arguments.codes:
        raise InputError(f"schedule must not be given with --gallery, got {arguments.codes[0]!r}")
    arguments.codes = list(GALLERY)
    _fill(arguments, "base", GALLERY_BASE)
    if arguments.updates is arguments.samples is None:
        _fill(arguments, "epochs", GALLERY_EPOCHS)
    if arguments.examples is arguments.tokens is None:
        _fill(arguments, "bptt", PENN_TREEBANK["bptt"])
        arguments.tokens = str(PENN_TREEBANK["tokens"])


def _fill(arguments: argparse.Namespace, name: str, value: int) -> None:
    if getattr(arguments, name) is None:
        setattr(arguments, name, str(value))


def _plot(plans: Sequence[Plan], baseline_size: int | None, path: str) -> None:
    from rebatch.report import write

    suffix = Path(path).suffix.lower()
    if suffix == ".html":
        from rebatch.report._plan_page import plan_page

        write(path, plan_page(plans, baseline_size))
    else:
        from rebatch.report._figure import picture

        write(path, picture(plans, suffix.removeprefix(".")))


def _print_json(plans: Sequence[Plan], size: int | None, machines: Sequence[Cluster]) -> None:
    import json

    values = [made.to_dict() for made in plans]
    for made, value in zip(plans, values, strict=True):
        if machines:
            value["scaling"] = _one_or_all([compared(made, each, size) for each in machines])
    print(json.dumps(_one_or_all(values), indent=2))


def _one_or_all(values: list[dict[str, Any]]) -> dict[str, Any] | list[dict[str, Any]]:
    return values if len(values) > 1 else values[0]


def _print(
    plans: Sequence[Plan], size: int | None, machines: Sequence[Cluster], plot: str | None
) -> None:
    from rich.console import Console

    from rebatch.report._plan_text import show
    from rebatch.report._scaling_text import show_scaling

    console = Console(highlight=False)
    show(console, plans, size)
    if machines:
        show_scaling(console, plans, machines, size)
    if plot is not None:
        print(f"wrote {plot}")
