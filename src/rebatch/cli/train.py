"""``rebatch train``: one run of a recipe."""

import argparse
import contextlib
import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rebatch.errors import InputError, RunError, positive_int

if TYPE_CHECKING:
    from rebatch.engine.job import Job, Watch
    from rebatch.recipes import Case, Recipe

EXAMPLES = """\
examples:
  rebatch train digits --schedule CBS-5 --out runs/digits
  rebatch train l1-ptb --schedule CBS-10 --seed 1 --data data --out runs/l1
  rebatch train c1-cifar10 --schedule BL --set epochs=5 --out runs/short
  rebatch train l1-ptb --schedule CBS-5 --variant equal-noise --out runs/other
  rebatch train l1-ptb --schedule CBS-10 --out runs/l1 --resume
  rebatch train l1-ptb --schedule AUTO --out runs/auto
  rebatch train l1-ptb --plan runs/auto/plan.json --seed 1 --out runs/again

AUTO, GNS, PLATEAU and ABSA decide the batch sizes while they train, from what
they measure. Their run's plan.json says what they decided and why; --plan
trains just that again.

Several processes make one run, and share every batch of the schedule, when
torchrun starts them:
  torchrun --nproc-per-node 2 -m rebatch train digits --schedule BL --out runs/2

A run stops safely on Ctrl-C or SIGTERM: it writes a checkpoint, and --resume
goes on from there as if it had never stopped. 'rebatch recipes' lists the
recipes, with --help the variants.

exit codes: 0 finished, 1 failed, 2 wrong input, 130 stopped by Ctrl-C,
143 stopped by SIGTERM"""


def register(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "train",
        help="one run of a recipe: train, snapshot, evaluate, record",
        description="Train one recipe under one schedule and write its records to a folder.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("recipe", help="a recipe, as 'rebatch recipes' lists them")
    add_run_arguments(parser)
    sizes = parser.add_mutually_exclusive_group(required=True)
    sizes.add_argument("--schedule", metavar="CODE", help="BL, CBS-5-3-A, AUTO, …")
    sizes.add_argument("--plan", type=Path, metavar="FILE", help="or: the plan.json of a run")
    parser.add_argument("--seed", default="0", metavar="S", help="default: 0")
    parser.add_argument("--out", required=True, type=Path, metavar="DIR", help="the run's folder")
    parser.add_argument("--variant", metavar="NAME", help="a control instead of the paper's case")
    parser.add_argument("--resume", action="store_true", help="go on from the last checkpoint")
    parser.add_argument("--tensorboard", action="store_true", help="write TensorBoard events too")
    parser.add_argument("--wandb", metavar="PROJECT", help="log to Weights & Biases too")
    parser.set_defaults(run=run_train)


def add_case_arguments(parser: "argparse.ArgumentParser | argparse._ArgumentGroup") -> None:
    """Add what every command shares that builds a recipe."""
    parser.add_argument("--data", type=Path, metavar="DIR", help="folder of the data sets")
    parser.add_argument("--device", default="auto", metavar="D", help="auto, cpu, cuda, cuda:1")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        dest="settings",
        metavar="FIELD=VALUE",
        help="change a field of the recipe (again for more)",
    )


def add_run_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that every command which makes runs shares."""
    add_case_arguments(parser)
    parser.add_argument(
        "--engine",
        default="auto",
        metavar="HOW",
        help="eager, or on a GPU: graphs (whole updates as CUDA graphs), compiled (graphs of a "
        "model that torch.compile made, at half a minute for each batch size)",
    )
    parser.add_argument("--checkpoint-every", default="60", metavar="SECONDS", help="default: 60")


def whole(name: str, text: str, *, at_least: int = 0) -> int:
    """Return a whole number, or say what the argument must be."""
    number = text.isascii() and text.isdigit()
    if number and len(text) > 19:
        raise InputError(f"{name} must have at most 19 digits, got {text}")
    return positive_int(name, int(text) if number else text, at_least=at_least)


def seconds(name: str, text: str) -> float:
    """Return a number of seconds, or say what the argument must be."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise InputError(f"{name} must be a number of at least 0, got {text}")
    return value


def run_train(arguments: argparse.Namespace) -> None:
    """Train and print the result in one line."""
    from rebatch.recipes import find, override

    recipe = override(find(arguments.recipe), arguments.settings)
    made = _case(recipe, arguments)
    seed = whole("seed", arguments.seed)
    interval = seconds("checkpoint-every", arguments.checkpoint_every)

    from rebatch.cli._listeners import tensorboard, wandb
    from rebatch.cli._progress import TrainingBar
    from rebatch.engine.launch import is_first
    from rebatch.recipes._run import run

    speaks = is_first()  # of several processes that make one run

    def follow(job: "Job") -> "Watch":
        if speaks:
            for said in job.plan.notes:
                logging.getLogger("rebatch").warning(said)
        return bar.follow(job)

    with contextlib.ExitStack() as stack:
        listeners = []
        if arguments.tensorboard and speaks:
            listeners.append(stack.enter_context(tensorboard(arguments.out)))
        if arguments.wandb and speaks:
            label = f"{recipe.name} {made.code} seed {seed}"
            going_on = wandb(arguments.wandb, label, arguments.out, resume=arguments.resume)
            listeners.append(stack.enter_context(going_on))
        bar = stack.enter_context(TrainingBar(f"{recipe.name} {made.code}"))
        result = run(
            made,
            seed=seed,
            out=arguments.out,
            device=arguments.device,
            engine=arguments.engine,
            data_root=arguments.data,
            overrides=arguments.settings,
            resume=arguments.resume,
            checkpoint_every=interval,
            listeners=listeners,
            watch=follow,
        )
    if speaks:
        print(summary(result, arguments.out))


def _case(recipe: "Recipe", arguments: argparse.Namespace) -> "Case":
    """Return what to train: a schedule, or a plan that a run recorded."""
    from rebatch.recipes import case, replay

    if arguments.plan is None:
        return case(recipe, arguments.schedule, arguments.variant)
    from rebatch._course import Course
    from rebatch.records import read_json

    try:
        course = Course.from_dict(read_json(arguments.plan))
    except RunError as error:
        raise InputError(f"plan must be the plan.json of a run: {error}") from None
    return replay(recipe, course, arguments.variant)


def summary(result: dict[str, Any], out: Path) -> str:
    """Say in one line how a run ended."""
    figures = [f"{name} {value:.2f}" for name, value in result["final"].items() if _headline(name)]
    ensemble = result["ensemble"] or {}
    together = [f"{name} {value:.2f}" for name, value in ensemble.items() if _headline(name)]
    parts = [f"{result['recipe']} {result['schedule']} seed {result['seed']}", *figures]
    if together and len(ensemble["members"]) > 1:
        parts.append(f"ensemble of {len(ensemble['members'])}: {', '.join(together)}")
    parts.append(f"{result['updates']:,} updates in {result['seconds']:,.0f} s")
    return f"{'; '.join(parts)}; records in {out}"


def _headline(name: str) -> bool:
    return name.endswith(("accuracy", "perplexity")) and not name.startswith("train_")
