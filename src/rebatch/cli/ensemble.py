"""``rebatch ensemble``: the snapshots of a run, asked together."""

import argparse
import json
from pathlib import Path
from typing import Any

EPILOG = """\
examples:
  rebatch ensemble runs/digits             all snapshots, and the final weights
  rebatch ensemble runs/digits --last 2    the last two of them
  rebatch ensemble runs/c3 --reestimate    with batch-norm statistics taken anew

The prediction is the mean of the members' probabilities."""


def register(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "ensemble",
        help="evaluate the snapshots of a run together",
        description="Evaluate the snapshots of a finished run together.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("folder", type=Path, metavar="RUN", help="the run's folder")
    parser.add_argument("--last", metavar="M", help="only the last M snapshots")
    parser.add_argument("--reestimate", action="store_true", help="batch-norm statistics anew")
    parser.add_argument("--data", type=Path, metavar="DIR", help="folder of the data sets")
    parser.add_argument("--device", default="auto", metavar="D", help="auto, cpu, cuda, …")
    parser.add_argument("--json", action="store_true", help="as JSON")
    parser.set_defaults(run=run_ensemble)


def run_ensemble(arguments: argparse.Namespace) -> None:
    """Print each member and the ensemble."""
    from rebatch.cli.train import whole

    last = None if arguments.last is None else whole("last", arguments.last, at_least=1)

    from rebatch.recipes._ensemble import ensemble

    figures = ensemble(
        arguments.folder,
        last=last,
        reestimated=arguments.reestimate,
        device=arguments.device,
        data_root=arguments.data,
    )
    if arguments.json:
        print(json.dumps(figures))
        return
    for name, values in figures["each"].items():
        print(f"{name}: {_written(values)}")
    print(f"together: {_written(figures['together'])}")


def _written(values: dict[str, Any]) -> str:
    return ", ".join(f"{name} {value:.2f}" for name, value in values.items())
