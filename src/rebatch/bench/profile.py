"""Where the time of an update goes on the device, kernel by kernel."""

from dataclasses import dataclass
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile

from rebatch.bench.cells import Cell
from rebatch.bench.clock import Tell
from rebatch.bench.ours import ours_at
from rebatch.recipes import override


@dataclass(frozen=True)
class Profile:
    """Microseconds of an update, from begin to end and in its kernels (on a CPU: operators)."""

    whole: float
    """Measured without the profiler, which slows things down."""
    kernels: list[tuple[str, float, float]]
    """Name, calls an update, own microseconds an update: the longest first."""

    @property
    def busy(self) -> float:
        """Microseconds of all kernels together."""
        return sum(each for *_, each in self.kernels)


def measure_profile(
    device: torch.device,
    *,
    cell: Cell,
    updates: int = 50,
    share: float = 1.0,
    engine: str = "auto",
    settings: tuple[str, ...] = (),
    tell: Tell = lambda what: None,
) -> Profile:
    """Train a cell for so many updates, with a clock and then under PyTorch's profiler."""
    recipe = override(cell.recipe, settings)
    kind = ProfilerActivity.CUDA if device.type == "cuda" else ProfilerActivity.CPU
    tell("building")
    with ours_at(recipe, device=device, share=share, engine=engine) as ours:
        tell("warming up")
        ours.turn(updates)
        tell("clock")
        whole = 1e6 * ours.turn(updates) / updates
        tell("profiler")
        with profile(activities=[kind]) as found:
            ours.turn(updates)
    # The updates that warm up are seen too.
    return Profile(whole, _kernels(found, device, updates + ours.first_updates - 1))


def _kernels(found: Any, device: torch.device, made: int) -> list[tuple[str, float, float]]:
    time = "self_device_time_total" if device.type == "cuda" else "self_cpu_time_total"
    rows = [
        (str(event.key), event.count / made, getattr(event, time) / made)
        for event in found.key_averages()
    ]
    return sorted((row for row in rows if row[2]), key=lambda row: -row[2])
