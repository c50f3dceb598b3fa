"""``rebatch train`` on one rank of several, each with arguments of its own."""

import contextlib
import io
import sys
from pathlib import Path

import torch

import rebatch
from rebatch.cli import main
from rebatch.engine.launch import launched

SMALL = ["precision=fp64", "epochs=2", "baseline_batch_size=131", "cyclical_batch_size=131"]


def train(folder, *more, schedule="CBS-1-2", settings=SMALL):
    """Return the exit code and what was printed."""
    torch.set_num_threads(1)
    arguments = ["train", "digits", "--schedule", schedule, "--out", str(folder), *more]
    for setting in settings:
        arguments += ["--set", setting]
    with (
        contextlib.redirect_stdout(io.StringIO()) as out,
        contextlib.redirect_stderr(io.StringIO()) as complaint,
    ):
        code = main([*arguments, "--device", "cpu"])
    return code, out.getvalue(), complaint.getvalue()


def finish(rank, world):
    folder = Path(sys.argv[1]) / f"run-{world}"
    with launched(torch.device("cpu"), 0):  # one process group for both
        return train(folder), train(folder, "--resume")


def differ(rank, world):
    """Tell the last rank something else than the others."""
    root, odd, found = Path(sys.argv[1]), rank == world - 1, {}
    with launched(torch.device("cpu"), 0):
        found["schedule"] = train(root / "a", schedule="CBS-1-3" if odd else "CBS-1-2")
        found["seed"] = train(root / "b", "--seed", "1" if odd else "0")
        found["epochs"] = train(root / "c", settings=["epochs=3" if odd else "epochs=2"])
        found["out"] = train(root / ("d" if odd else "e"))
        rebatch.__version__ = "0.0.1" if odd else "9.9.9"
        found["rebatch"] = train(root / "f")
    return found


def taken(rank, world):
    """Start where there is a run already: only the first rank looks, and all are refused."""
    with launched(torch.device("cpu"), 0):
        return train(Path(sys.argv[1]) / "run-2")
