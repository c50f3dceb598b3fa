"""Finished runs read from their records, and brought together over seeds."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from rebatch.errors import InputError
from rebatch.records import RunFolder, find_runs, read_json, read_lines
from rebatch.report._checks import checked_epoch, checked_result, figure

Key = tuple[str, str, str | None, tuple[str, ...]]
HEADLINES = ("test_perplexity", "test_accuracy", "validation_accuracy")


@dataclass(frozen=True)
class Run:
    """The records of one finished run."""

    folder: RunFolder
    result: dict[str, Any]

    @cached_property
    def epochs(self) -> list[dict[str, Any]]:
        """The records of the epochs, in order."""
        path = self.folder.metrics
        lines = (line for line in read_lines(path) if line.get("kind") == "epoch")
        return [checked_epoch(path, line) for line in lines]


@dataclass(frozen=True)
class Group:
    """Runs that differ in their seed alone."""

    recipe: str
    schedule: str
    variant: str | None
    overrides: tuple[str, ...]
    runs: tuple[Run, ...]

    @property
    def name(self) -> str:
        """Schedule, with the control or the changes if there are any."""
        extra = [part for part in (self.variant, *self.overrides) if part]
        return f"{self.schedule} ({', '.join(extra)})" if extra else self.schedule

    @property
    def updates(self) -> int:
        """Updates of one run."""
        return int(self.runs[0].result["updates"])

    def values(self, part: str, metric: str) -> list[float]:
        """Return a metric of every run that has it; ``part`` is final, best or ensemble."""
        found = [figure((run.result.get(part) or {}).get(metric)) for run in self.runs]
        return [value for value in found if value is not None]


def read_groups(root: Path) -> list[Group]:
    """Return the finished runs below a folder, grouped over seeds, in order of name."""
    found: dict[Key, list[Run]] = {}
    for folder in find_runs(root):
        if folder.result.exists():
            run = Run(folder, checked_result(folder.result, read_json(folder.result)))
            found.setdefault(_key(run.result), []).append(run)
    if not found:
        raise InputError(f"folder must hold at least one finished run, got {root}")
    ordered = sorted(found.items(), key=lambda item: _rank(*item[0]))
    return [
        Group(recipe, schedule, variant, overrides, tuple(_by_seed(runs)))
        for (recipe, schedule, variant, overrides), runs in ordered
    ]


def _key(result: dict[str, Any]) -> Key:
    overrides = tuple(result.get("overrides") or ())
    return result["recipe"], result["schedule"], result.get("variant"), overrides


def headline(groups: Sequence[Group]) -> str:
    """Return the metric that a recipe is judged by."""
    final = groups[0].runs[0].result["final"]
    return next((name for name in HEADLINES if name in final), next(iter(final)))


def spread(values: Sequence[float], digits: int = 2) -> str:
    """Write a mean and its deviation over seeds.

    >>> spread([97.0, 98.0]), spread([97.0]), spread([])
    ('97.50 ± 0.71', '97.00', '–')
    """
    if not values:
        return "–"
    centre = f"{mean(values):.{digits}f}"
    return f"{centre} ± {stdev(values):.{digits}f}" if len(values) > 1 else centre


def _rank(
    recipe: str, schedule: str, variant: str | None, overrides: tuple[str, ...]
) -> tuple[Any, ...]:
    """Sort the baseline before the cycles, the paper's own cases before controls."""
    return recipe, variant or "", overrides, schedule != "BL", len(schedule), schedule


def _by_seed(runs: list[Run]) -> list[Run]:
    return sorted(runs, key=lambda run: run.result["seed"])
