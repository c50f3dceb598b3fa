"""Records as reports may rely on them: whatever a file holds is told in one line, or left out."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rebatch.errors import LARGEST, RunError, shown

HUGE = 1e100
"""A figure beyond it says nothing, and its square could not be told."""
_PLACES = {"epoch": 0, "update": 0, "cycle": 0, "batch_size": 1}
_DECIDED = {"update": 0, "batch_size": 1, "next_batch_size": 1}


def figure(value: object) -> float | None:
    """Return a value that can be averaged and drawn, or nothing.

    >>> [figure(value) for value in (1, 2.5, True, "x", float("nan"), 1e300)]
    [1.0, 2.5, None, None, None, None]
    """
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if number and -HUGE < value < HUGE else None  # type: ignore[arg-type, operator]


def checked_result(path: Path, result: dict[str, Any]) -> dict[str, Any]:
    """Return a result whose names, counts and tables are what they should be."""
    for name in ("recipe", "schedule", "seed", "updates", "final"):
        if name not in result:
            raise RunError(f"{path} is not the result of a run: it has no {name!r}")
    for name, fine in _judged(result).items():
        if not fine:
            said = shown(result[name])
            raise RunError(f"{path} is not the result of a run: its {name} is {said}")
    return result


def _judged(result: Mapping[str, Any]) -> dict[str, bool]:
    """Tell of each field whether it is fine."""
    overrides = result.get("overrides") or []
    texts = isinstance(overrides, list) and all(isinstance(text, str) for text in overrides)
    return {
        "recipe": isinstance(result["recipe"], str),
        "schedule": isinstance(result["schedule"], str),
        "seed": _is_count(result["seed"], 0),
        "updates": _is_count(result["updates"], 1),
        "final": isinstance(result["final"], dict) and result["final"] != {},
        "variant": isinstance(result.get("variant"), str | None),
        "overrides": texts,
        "best": isinstance(result.get("best"), dict | None),
        "ensemble": isinstance(result.get("ensemble"), dict | None),
    }


def checked_epoch(path: Path, line: dict[str, Any]) -> dict[str, Any]:
    """Return the record of an epoch with its place as whole numbers and its figures as figures."""
    _check_counts(path, line, _PLACES, "an epoch")
    return {name: value if name in _PLACES else figure(value) for name, value in line.items()}


def checked_decision(path: Path, line: dict[str, Any]) -> dict[str, Any]:
    """Return the record of a decision with its place, its sizes, its reason and its gauges."""
    _check_counts(path, line, _DECIDED, "a decision")
    gauges = line.get("gauges")
    named = gauges.items() if isinstance(gauges, dict) else ()
    known = {str(name): figure(value) for name, value in named}
    return {
        **{name: line[name] for name in _DECIDED},
        "epochs": figure(line.get("epochs")),
        "ends_cycle": line.get("ends_cycle") is True,
        "rate_factor": figure(line.get("rate_factor")),
        "reason": " ".join(str(line.get("reason") or "").split()),
        "gauges": {name: value for name, value in known.items() if value is not None},
    }


def _check_counts(path: Path, line: dict[str, Any], counts: Mapping[str, int], of: str) -> None:
    for name, least in counts.items():
        if not _is_count(line.get(name), least):
            said = shown(line.get(name))
            raise RunError(f"{path} is not the log of a run: the {name} of {of} is {said}")


def _is_count(value: object, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= LARGEST
