"""About how long runs take, from what was measured and from nothing else."""

import platform
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean
from typing import Any

from rebatch.errors import RunError
from rebatch.records import find_runs, read_json
from rebatch.sweeps._gpus import ask
from rebatch.sweeps._identity import Identity


def device_name(device: str = "auto") -> str:
    """Return the name that records give the device of this machine."""
    names = ask("name").splitlines() if device != "cpu" else []
    return names[0].strip() if names else platform.machine()


@dataclass
class Rates:
    """Measured times on one device."""

    seconds: dict[tuple[str, str, str | None], list[float]] = field(default_factory=dict)
    """Of whole runs without changed fields."""
    per_update: dict[str, list[float]] = field(default_factory=dict)
    """Seconds an update, by recipe."""

    def add(self, result: dict[str, Any]) -> None:
        """Take a result in."""
        seconds, updates = float(result["seconds"]), int(result["updates"])
        if not result.get("overrides"):
            key = (result["recipe"], result["schedule"], result.get("variant"))
            self.seconds.setdefault(key, []).append(seconds)
        if updates:
            self.per_update.setdefault(result["recipe"], []).append(seconds / updates)

    def estimate(self, run: Identity) -> float | None:
        """Return the seconds of a run: its own mean, or the mean of its recipe an update."""
        measured = self.seconds.get((run.recipe, run.schedule, run.variant))
        if measured and not run.overrides:
            return mean(measured)
        each = self.per_update.get(run.recipe)
        return mean(each) * run.plan.updates if each else None


def read_rates(folders: Iterable[Path], device: str) -> Rates:
    """Return what finished runs below the folders took on a device of that name."""
    rates = Rates()
    for folder in folders:
        for run in find_runs(folder) if folder.is_dir() else ():
            try:
                result = read_json(run.result)
                if result.get("device") == device:
                    rates.add(result)
            except (RunError, KeyError, TypeError, ValueError):
                continue  # not finished, or not a result
    return rates
