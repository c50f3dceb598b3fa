"""Finished runs read from their records, and brought together over seeds."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from rebatch.errors import InputError
from rebatch.records import RunFolder, find_runs, read_json, read_lines
from rebatch.report._checks import checked_decision, checked_epoch, checked_result, figure
from rebatch.report._scaling_text import duration

PLAIN = "eager"
"""The engine of runs that name none."""
Key = tuple[str, str, str | None, tuple[str, ...]]
HEADLINES = ("test_perplexity", "test_accuracy", "validation_accuracy")


@dataclass(frozen=True)
class Run:
    """The records of one finished run."""

    folder: RunFolder
    result: dict[str, Any]

    @cached_property
    def engine(self) -> str:
        """How its updates were made."""
        return str(read_json(self.folder.run).get("engine", PLAIN))

    @property
    def made_on(self) -> str:
        """The device, with the engine where it is not the plain one."""
        device = str(self.result.get("device", "unknown"))
        return device if self.engine == PLAIN else f"{device}, {self.engine}"

    @cached_property
    def lines(self) -> list[dict[str, Any]]:
        """Everything in the log, in order."""
        return list(read_lines(self.folder.metrics))

    @cached_property
    def epochs(self) -> list[dict[str, Any]]:
        """The records of the epochs, in order."""
        lines = (line for line in self.lines if line.get("kind") == "epoch")
        return [checked_epoch(self.folder.metrics, line) for line in lines]

    @cached_property
    def decisions(self) -> list[dict[str, Any]]:
        """What an adaptive schedule decided, in order; nothing for a fixed one."""
        lines = (line for line in self.lines if line.get("kind") == "decision")
        return [checked_decision(self.folder.metrics, line) for line in lines]

    def epochs_at(self, update: int) -> float:
        """Return how many epochs were finished after an update; a part of one between two."""
        before, ended = 0, 0.0
        for line in self.epochs:
            if line["update"] > update:
                return ended + float(update - before) / float(line["update"] - before)
            before, ended = line["update"], float(line["epoch"] + 1)
        return ended


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
        """Updates of one run; the mean where adaptive runs differ from seed to seed."""
        counts: list[int] = [run.result["updates"] for run in self.runs]
        return round(mean(counts))

    @property
    def seconds(self) -> float | None:
        """Time of one run from start to end, the mean over seeds; none if these are not alike."""
        if len({run.made_on for run in self.runs}) > 1:
            return None
        known = [figure(run.result.get("seconds")) for run in self.runs]
        found = [seconds for seconds in known if seconds is not None]
        return mean(found) if found else None

    @property
    def time(self) -> str:
        """That time in words, with the engine where it is not the plain one."""
        if self.seconds is None:
            return ""
        engine = self.runs[0].engine
        return f"{duration(self.seconds)}{'' if engine == PLAIN else f', {engine}'}"

    @property
    def is_plain(self) -> bool:
        """Whether neither a variant nor a changed field makes it another case."""
        return self.variant is None and not self.overrides

    @property
    def is_adaptive(self) -> bool:
        """Whether a schedule decided as it went, so that seeds differ in their batch sizes."""
        return any(run.decisions for run in self.runs)

    def values(self, part: str, metric: str) -> list[float]:
        """Return a metric of every run that has it; ``part`` is final, best or ensemble."""
        found = [figure(_part(run.result, part).get(metric)) for run in self.runs]
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


def unfinished(root: Path) -> list[str]:
    """Say of every run without a result which it is, and how it stands."""
    said = []
    for folder in find_runs(root):
        if not folder.result.exists():
            about = read_json(folder.run)
            names = [about.get("recipe"), about.get("schedule"), about.get("variant")]
            parts = [*names, *(about.get("overrides") or ()), f"seed {about.get('seed')}"]
            why = f": {about['error']}" if about.get("error") else ""
            said.append(f"{' '.join(str(p) for p in parts if p)} ({about.get('status')}{why})")
    return said


def _part(result: dict[str, Any], part: str) -> dict[str, Any]:
    """Return figures of a result; an ensemble has two members at least."""
    found: dict[str, Any] = result.get(part) or {}
    members = found.get("members")
    return {} if isinstance(members, list) and len(members) == 1 else found


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


def devices(groups: Sequence[Group]) -> str:
    """Name what the runs were made on."""
    runs = (run for group in groups for run in group.runs)
    return ", ".join(dict.fromkeys(str(run.result.get("device", "unknown")) for run in runs))


def saving(group: Group, baseline: Group | None) -> float | None:
    """Return how many updates fewer than the baseline's, in per cent of them."""
    if baseline is None or group is baseline:
        return None
    return 100 * (1 - group.updates / baseline.updates)


def saved(group: Group, baseline: Group | None) -> str:
    """Write that for people."""
    share = saving(group, baseline)
    return "" if share is None else f"{share:.0f} %".replace("-", "−")


def _rank(
    recipe: str, schedule: str, variant: str | None, overrides: tuple[str, ...]
) -> tuple[Any, ...]:
    """Sort baseline, cycles, others, and the paper's own cases before controls."""
    kind = 0 if schedule == "BL" else 1 if schedule.startswith("CBS") else 2
    return recipe, variant or "", overrides, kind, len(schedule), schedule


def _by_seed(runs: list[Run]) -> list[Run]:
    return sorted(runs, key=lambda run: run.result["seed"])
