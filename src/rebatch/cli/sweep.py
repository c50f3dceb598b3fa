"""``rebatch sweep``: many runs of a recipe."""

import argparse
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rebatch.cli._dry_run import add_dry_run, print_dry_run
from rebatch.cli.train import add_run_arguments, seconds, whole
from rebatch.errors import InputError, one_of

if TYPE_CHECKING:
    from rebatch.sweeps import Identity
    from rebatch.sweeps._loop import State

EXAMPLES = """\
examples:
  rebatch sweep digits --schedules BL,CBS-5 --seeds 0,1,2 --jobs 2 --out sweeps
  rebatch sweep l1-ptb --variants plain,equal-noise --out sweeps --dry-run
  rebatch sweep l1-ptb --variants plain,equal-noise --out sweeps
  rebatch sweep c1-cifar10 --schedules "CBS-5-3,GNS(share=0.2)" --out sweeps
  rebatch sweep l1-ptb --on ray --gpus 0.25 --out s3://bucket/sweeps

Every run is a process of its own, in
DIR/RECIPE/SCHEDULE[--VARIANT][--CHANGES]/seedS. The same command again skips
what is finished, resumes what was interrupted and tries again what failed.
Ctrl-C waits until every run under way has written its checkpoint; a second one
does not wait.

--dry-run tells a time only where finished runs of the same recipe on the same
device are found below DIR or the folder of --rates; runs are counted one after
another.

exit codes: 0 all finished, 1 some failed, 2 wrong input, 130 and 143 stopped"""


def register(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "sweep",
        help="many runs of a recipe; finished ones are skipped",
        description="Train a recipe under every schedule, variant and seed that is named.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("recipe", help="a recipe, as 'rebatch recipes' lists them")
    parser.add_argument("--schedules", metavar="A,B", help="default: all of the paper's")
    parser.add_argument("--seeds", default="0", metavar="0,1", help="default: 0")
    parser.add_argument("--variants", default="plain", metavar="V,W", help="plain is without one")
    add_sweep_arguments(parser)
    parser.set_defaults(run=run_sweep)


def add_sweep_arguments(parser: argparse.ArgumentParser, out: str | None = None) -> None:
    """Add the arguments that every command with many runs shares; ``out`` is a default."""
    told = f"default: {out}" if out else "holds the runs' folders"
    parser.add_argument("--out", default=out, required=not out, metavar="DIR", help=told)
    parser.add_argument("--jobs", default="auto", metavar="N", help="runs at once; default: auto")
    parser.add_argument("--on", default="local", metavar="WHERE", help="local or ray")
    parser.add_argument("--cpus", metavar="N", help="ray: processors of a run; default: 1")
    parser.add_argument("--gpus", metavar="N", help="ray: GPUs of a run, as 0.5; 1 if there are")
    parser.add_argument("--retries", metavar="N", help="ray: lost workers; default: 3")
    parser.add_argument("--address", metavar="A", help="ray: of the cluster; default: start one")
    add_run_arguments(parser)
    add_dry_run(parser)


def run_sweep(arguments: argparse.Namespace) -> None:
    """Make the runs."""
    from rebatch.recipes import find
    from rebatch.sweeps import identities

    recipe = find(arguments.recipe)
    codes = listed("schedules", arguments.schedules) if arguments.schedules else recipe.schedules
    variants = [
        None if name == "plain" else name for name in listed("variants", arguments.variants)
    ]
    runs = identities(arguments.recipe, codes, seeds(arguments.seeds), variants, arguments.settings)
    if arguments.dry_run:
        out = local_folder(arguments.out, "for a dry run to look at")
        making(runs, arguments)  # refuses what the runs could not be made with
        print_dry_run(runs, [run for run in runs if run.seed == runs[0].seed], out, arguments)
        return
    making(runs, arguments)()


def making(runs: "list[Identity]", arguments: argparse.Namespace) -> "Callable[[], State]":
    """Read the arguments, and return what makes runs where they say."""
    from rebatch.sweeps import Options, sweep

    if arguments.rates is not None and not arguments.dry_run:
        raise InputError(f"rates must come with --dry-run, got {arguments.rates}")
    where = one_of("on", arguments.on, ("local", "ray"))
    options = Options(
        arguments.device,
        arguments.data,
        seconds("checkpoint-every", arguments.checkpoint_every),
        arguments.engine,
    )
    jobs = None if arguments.jobs == "auto" else whole("jobs", arguments.jobs, at_least=1)
    if where == "local":
        for name in ("cpus", "gpus", "retries", "address"):
            if getattr(arguments, name) is not None:
                raise InputError(f"{name} must come with --on ray, got {getattr(arguments, name)}")
        return partial(sweep, runs, local_folder(arguments.out), jobs=jobs, options=options)
    from rebatch.sweeps import Needs, sweep_on_ray

    needs = Needs(
        cpus=seconds("cpus", arguments.cpus or "1"),
        gpus=None if arguments.gpus is None else seconds("gpus", arguments.gpus),
        retries=whole("retries", arguments.retries or "3"),
    )
    return partial(
        sweep_on_ray,
        runs,
        arguments.out,
        needs=needs,
        options=options,
        jobs=jobs,
        address=arguments.address,
    )


def local_folder(out: str, why: str = "without --on ray") -> Path:
    """Return the folder, which must not be an address of another store."""
    if "://" in out:
        raise InputError(f"out must be a folder of this machine {why}, got {out}")
    return Path(out)


def listed(name: str, text: str) -> list[str]:
    """Return the parts of a comma-separated text; commas in parentheses do not separate.

    >>> listed("schedules", "BL, GNS(share=0.5, largest=640)")
    ['BL', 'GNS(share=0.5, largest=640)']
    """
    parts, depth = [""], 0
    for letter in text:
        depth += (letter == "(") - (letter == ")")
        if letter == "," and not depth:
            parts.append("")
        else:
            parts[-1] += letter
    parts = [part.strip() for part in parts]
    if not all(parts):
        raise InputError(f"{name} must be a list such as A,B, got {text!r}")
    return parts


def seeds(text: str) -> list[int]:
    """Return whole numbers, comma-separated."""
    return [whole("seeds", part) for part in listed("seeds", text)]
