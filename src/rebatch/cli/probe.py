"""``rebatch probe``: up to which batch size doubling is free."""

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rebatch.cli._numbers import number, whole
from rebatch.cli._picture import check_picture
from rebatch.cli.train import add_case_arguments
from rebatch.errors import InputError

if TYPE_CHECKING:
    from rebatch.probe import Design, Verdict
    from rebatch.recipes import Recipe

ABOUT = """\
Measure the critical batch size of a recipe by branches: train at the base for
a while, then go on from that one point with several batch sizes, over the same
samples each, and compare the training losses they reach. The largest size that
loses nothing is where doubling the batch stops being free. Prints a table, the
gradient noise scale beside it, and a CBS code for the recipe; never looks at
test data. (CBS here is the paper's cyclical batch size.)"""
EXAMPLES = """\
examples:
  rebatch probe digits
  rebatch probe digits --dry-run
  rebatch probe digits --rate constant --repeats 4 --plot probe.png
  rebatch probe c1-cifar10 --set holdout=5000 --data data --out runs/probe-c1
  rebatch probe l1-ptb --warm-up 25% --largest 640 --data data --out runs/probe

The cost is told before anything is trained; --dry-run tells it and stops. A
probe with --out that was stopped goes on with --resume: the branches that are
finished are kept."""


def register(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "probe",
        help="measure up to which batch size doubling is free, and propose a schedule",
        description=ABOUT,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("recipe", help="a recipe, as 'rebatch recipes' lists them")
    _add_design(parser)
    _add_place(parser)
    _add_output(parser)
    parser.set_defaults(run=run)


def _add_design(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("what is measured")
    told = "epochs at the base before the branches leave, or a share of the recipe's as 25%%"
    group.add_argument("--warm-up", metavar="E", help=f"{told} (default: 10%%)")
    group.add_argument("--length", default="1", metavar="E", help="epochs a branch (default: 1)")
    largest = "largest batch size (default: 32 x the base, or what gives a branch 8 updates)"
    group.add_argument("--largest", metavar="B", help=largest)
    rate = "how the learning rate follows the batch: sqrt (default), linear or constant"
    group.add_argument("--rate", default="sqrt", metavar="RULE", help=rate)
    repeats = "branches of each size, in another order of the samples each (default: 3)"
    group.add_argument("--repeats", default="3", metavar="N", help=repeats)
    times = "how many times the spread between the base's repeats is no loss (default: 2)"
    group.add_argument("--tolerance", default="2", metavar="X", help=times)
    group.add_argument("--seed", default="0", metavar="S", help="default: 0")


def _add_place(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("where")
    add_case_arguments(group)
    group.add_argument("--out", type=Path, metavar="DIR", help="keep the records in this folder")
    group.add_argument("--resume", action="store_true", help="go on with the probe in --out")


def _add_output(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("output")
    group.add_argument("--dry-run", action="store_true", help="only tell what it would cost")
    group.add_argument("--json", action="store_true", help="print the result as JSON")
    group.add_argument("--plot", type=Path, metavar="FILE", help="also draw it: .png or .svg")


def run(arguments: argparse.Namespace) -> None:
    """Tell the cost, train, and print what came out."""
    from rebatch.recipes import find, override

    check_picture(arguments.plot)
    if arguments.resume and arguments.out is None:
        raise InputError("resume must be given with --out, the probe's folder, got none")
    recipe = override(find(arguments.recipe), arguments.settings)
    times = number("tolerance", arguments.tolerance, zero=True) or 0.0

    from rebatch.cli._probe_bar import ProbeBar
    from rebatch.probe import expected_seconds, laboratory, run_probe
    from rebatch.probe._text import announce

    chosen = _design(arguments, recipe)
    with laboratory(
        chosen,
        out=None if arguments.dry_run else arguments.out,
        device=arguments.device,
        data_root=arguments.data,
        resume=arguments.resume,
    ) as lab:
        told = announce(chosen, expected_seconds(lab))
        print(told, file=sys.stderr if arguments.json else sys.stdout, flush=True)
        if arguments.dry_run:
            return
        with ProbeBar(chosen) as bar:
            verdict = run_probe(lab, bar.follow, times=times)
    _show(verdict, arguments)


def _design(arguments: argparse.Namespace, recipe: "Recipe") -> "Design":
    from rebatch.cli.train import whole as count
    from rebatch.probe import design

    return design(
        recipe,
        warm_up=_warm_up(arguments.warm_up, recipe.epochs),
        length=count("length", arguments.length, at_least=1),
        largest=whole("largest", arguments.largest),
        repeats=count("repeats", arguments.repeats, at_least=2),
        rule=arguments.rate,
        seed=count("seed", arguments.seed),
    )


def _warm_up(text: str | None, epochs: int) -> int | None:
    """Read epochs, or a share of all epochs in per cent."""
    if text is None or not text.endswith("%"):
        return whole("warm-up", text)
    share = number("warm-up", text.removesuffix("%"))
    assert share is not None
    return max(1, round(epochs * share / 100))


def _show(verdict: "Verdict", arguments: argparse.Namespace) -> None:
    from rich.console import Console

    from rebatch.probe._picture import picture
    from rebatch.probe._text import conclusions, table
    from rebatch.report import write

    if arguments.plot is not None:
        write(arguments.plot, picture(verdict, arguments.plot.suffix.lower().removeprefix(".")))
    if arguments.json:
        print(json.dumps(verdict.to_dict(), indent=2))
        return
    console = Console(highlight=False)
    console.print(table(verdict))
    for line in conclusions(verdict):
        console.print(line, soft_wrap=True)
    for kept in (arguments.plot, arguments.out):
        if kept is not None:
            console.print(f"wrote {kept}", soft_wrap=True)
