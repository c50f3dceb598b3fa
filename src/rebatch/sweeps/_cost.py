"""About how long runs take, from what was measured and from nothing else."""

import platform
from collections.abc import Iterable, Sequence
from contextlib import suppress
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
    """Measured times on one device, told apart by the engine that made the updates."""

    engines: Sequence[str] = ("eager",)
    """The one that will be used, then others whose times are better than none."""
    seconds: dict[tuple[str, str, str, str | None], list[float]] = field(default_factory=dict)
    """Of whole runs without changed fields."""
    per_update: dict[tuple[str, str], list[float]] = field(default_factory=dict)
    """Seconds an update, by engine and recipe."""

    def add(self, engine: str, result: dict[str, Any]) -> None:
        """Take a result in."""
        seconds, updates = float(result["seconds"]), int(result["updates"])
        if not result.get("overrides"):
            key = (engine, result["recipe"], result["schedule"], result.get("variant"))
            self.seconds.setdefault(key, []).append(seconds)
        if updates:
            self.per_update.setdefault((engine, result["recipe"]), []).append(seconds / updates)

    def estimate(self, run: Identity) -> float | None:
        """Return the seconds of a run: its own mean, or the mean of its recipe an update."""
        for engine in self.engines:
            measured = self.seconds.get((engine, run.recipe, run.schedule, run.variant))
            if measured and not run.overrides:
                return mean(measured)
            if each := self.per_update.get((engine, run.recipe)):
                return mean(each) * run.plan.updates
        return None


def read_rates(folders: Iterable[Path], device: str, engine: str = "auto") -> Rates:
    """Return what finished runs below the folders took on a device of that name."""
    wanted = "graphs" if engine == "auto" else engine
    rates = Rates(tuple(dict.fromkeys((wanted, "eager", "graphs", "compiled"))))
    for folder in folders:
        for run in find_runs(folder) if folder.is_dir() else ():
            with suppress(RunError, KeyError, TypeError, ValueError):  # not finished, or no result
                result = read_json(run.result)
                if result.get("device") == device:
                    rates.add(read_json(run.run).get("engine", "eager"), result)
    return rates
