"""Feeding: batch indices and batches of tensors, against what torch itself offers."""

import math
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import torch
from torch.utils.data import BatchSampler, DataLoader, RandomSampler, TensorDataset

from rebatch._plan import plan
from rebatch.data import PlannedBatchSampler, TensorLoader
from rebatch.schedules import constant

Draw = Callable[[int, int], Iterable[list[int]]]
RESIDENT = Path("/proc/self/statm")
"""Where Linux says how much memory a process holds; elsewhere it is not compared."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """One figure of rebatch beside the same figure of torch; less is better for both."""

    name: str
    against: str
    unit: str
    rebatch: float
    torch: float
    target: float
    """The ratio that is asked for."""

    @property
    def ratio(self) -> float:
        """How many times torch's figure is ours; endless where ours is too small to see."""
        return self.torch / self.rebatch if self.rebatch else math.inf


def compare_feeding(*, quick: bool = False) -> list[Comparison]:
    """Measure everything, in one process; ``quick`` uses little data, and says little.

    Torch may use one thread, for us and for itself: waiting for a second one on a busy machine
    would be all that is measured.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        indices = _indices(20_000 if quick else 1_281_167, 256, repeats=1 if quick else 11)
        return indices + _loading(512 if quick else 10_000, 128, repeats=1 if quick else 15)
    finally:
        torch.set_num_threads(threads)


def _indices(examples: int, batch_size: int, repeats: int) -> list[Comparison]:
    ours, theirs = our_indices(examples, batch_size), their_indices(examples, batch_size)
    name, against = f"indices, {examples:,} by {batch_size}", "BatchSampler(RandomSampler)"
    return [
        Comparison(name, against, "s", *_seconds(ours, theirs, repeats), target=3),
        *_memory(name, against, examples, batch_size),
    ]


def our_indices(examples: int, batch_size: int) -> Iterable[list[int]]:
    """Give one epoch of shuffled batch indices as rebatch draws them."""
    return PlannedBatchSampler(plan(constant(batch_size), epochs=1, examples=examples))


def their_indices(examples: int, batch_size: int) -> Iterable[list[int]]:
    """Give one epoch of shuffled batch indices as torch draws them."""
    return BatchSampler(RandomSampler(range(examples)), batch_size, drop_last=False)


def _loading(examples: int, batch_size: int, repeats: int) -> list[Comparison]:
    tensors = (torch.rand(examples, 3, 32, 32), torch.randint(10, (examples,)))
    ours = TensorLoader(tensors, plan(constant(batch_size), epochs=1, examples=examples))
    name, found = f"loading, {examples:,} of 3x32x32 by {batch_size}", []
    for workers, target in ((0, 2), (2, 8)):
        theirs = DataLoader(
            TensorDataset(*tensors),
            batch_size,
            shuffle=True,
            num_workers=workers,
            persistent_workers=workers > 0,
        )
        against = f"DataLoader(TensorDataset), {workers} workers"
        seconds = _seconds(ours, theirs, repeats)
        found.append(Comparison(name, against, "s", *seconds, target=target))
    return found


def _seconds(ours: Iterable[object], theirs: Iterable[object], repeats: int) -> tuple[float, float]:
    """Return the best time of a pass over each, taken in turns after one to warm up."""
    times = [(_timed(ours), _timed(theirs)) for _ in range(repeats + 1)][1:]
    return min(our for our, _ in times), min(their for _, their in times)


def _timed(batches: Iterable[object]) -> float:
    began = time.perf_counter()
    for _ in batches:
        pass
    return time.perf_counter() - began


def _memory(name: str, against: str, examples: int, batch_size: int) -> list[Comparison]:
    """Compare the memory of a pass, each in a process where nothing freed before can hide it."""
    if not RESIDENT.exists():
        return []
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = "import rebatch.bench.feeding as f; print(f.memory_of(f.{}, {}, {}))"
    ours, theirs = (
        subprocess.Popen(
            [sys.executable, "-c", command.format(draw.__name__, examples, batch_size)],
            env=environment,
            stdout=subprocess.PIPE,
        )
        for draw in (our_indices, their_indices)
    )
    figures = float(ours.communicate()[0]), float(theirs.communicate()[0])
    return [Comparison(f"{name}: memory", against, "MB", *figures, target=1)]


def memory_of(draw: Draw, examples: int, batch_size: int) -> float:
    """Return how far the memory of this process rises while indices are drawn, in megabytes."""
    _timed(draw(batch_size, batch_size))
    before = _resident()
    return max(_resident() - before for _ in draw(examples, batch_size))


def _resident() -> float:
    return int(RESIDENT.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
