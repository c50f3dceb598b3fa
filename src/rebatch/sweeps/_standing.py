"""Where a run stands, read from its own records and from nothing else."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rebatch.errors import RunError
from rebatch.records import FINISHED, RUNNING, RunFolder, read_json
from rebatch.sweeps._identity import Identity

WAITING = "waiting"
TAIL = 1 << 16
"""Bytes at the end of a log that are looked at: far more than the lines of an epoch need."""
HEADLINES = ("test_perplexity", "test_accuracy", "validation_accuracy", "valid_perplexity")


@dataclass(frozen=True)
class Standing:
    """How far a run has come."""

    status: str = WAITING
    epoch: int = 0
    """Epochs finished."""
    update: int = 0
    batch_size: int | None = None
    figures: Mapping[str, float] = field(default_factory=dict)
    seconds: float = 0.0
    left: float | None = None
    """Seconds still to go, if the rest is as fast as what was done, sample for sample."""
    error: str = ""

    @property
    def headline(self) -> str:
        """The figure that a run is judged by, if there is one yet."""
        name = next((name for name in HEADLINES if name in self.figures), None)
        return "" if name is None else f"{name} {self.figures[name]:.2f}"


def standing(identity: Identity, path: Path) -> Standing:
    """Return where the run in a folder stands; what cannot be read counts as not there.

    A run killed between its result and its last touches is not finished: it is quickly resumed.
    """
    folder = RunFolder(path)
    described, result = _read(folder.run), _read(folder.result)
    if result and described.get("status") == FINISHED and not folder.has_checkpoint:
        return Standing(
            FINISHED,
            epoch=identity.case.recipe.epochs,
            update=result.get("updates", 0),
            figures=_figures(result.get("final") or {}),
            seconds=result.get("seconds", 0.0),
            left=0.0,
        )
    status = RUNNING if result else described.get("status", WAITING)
    error = described.get("error") or _first_line(path / "error.txt")
    return _under_way(identity, tail(folder.metrics), status, error)


def _under_way(
    identity: Identity, lines: list[dict[str, Any]], status: str, error: str
) -> Standing:
    if not lines:
        return Standing(status, error=error)
    last = lines[-1]
    epochs = [line for line in lines if line.get("kind") == "epoch"]
    return Standing(
        status,
        epoch=epochs[-1]["epoch"] + 1 if epochs else last["epoch"],
        update=last["update"],
        batch_size=last["batch_size"],
        figures=_figures(epochs[-1]) if epochs else {},
        seconds=last["seconds"],
        left=time_left(last["seconds"], last["samples"], identity.plan.samples),
        error=error,
    )


def time_left(seconds: float, samples: int, total: int) -> float | None:
    """Return the seconds that the rest takes at the pace so far.

    >>> time_left(30.0, 1000, 3000)
    60.0
    """
    return seconds * max(total - samples, 0) / samples if samples else None


def tail(path: Path) -> list[dict[str, Any]]:
    """Return the last whole records of training in a log; torn lines are passed over."""
    try:
        with path.open("rb") as file:
            file.seek(-min(TAIL, os.fstat(file.fileno()).st_size), os.SEEK_END)
            lines = file.read().splitlines()
    except OSError:
        return []
    found = []
    for line in lines:
        try:
            record = json.loads(line)
        except ValueError:
            continue
        if isinstance(record, dict) and {"update", "seconds", "samples"} <= record.keys():
            found.append(record)
    return found


def _read(path: Path) -> dict[str, Any]:
    try:
        return read_json(path)
    except RunError:
        return {}


def _first_line(path: Path) -> str:
    try:
        return path.read_text(errors="replace").strip().splitlines()[0]
    except (OSError, IndexError):
        return ""


def _figures(record: Mapping[str, Any]) -> dict[str, float]:
    return {name: value for name, value in record.items() if name in HEADLINES and value}
