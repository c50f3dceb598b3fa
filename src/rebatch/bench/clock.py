"""Time on a device: nothing is read off before the work that was asked for is done."""

import time
from collections.abc import Callable, Iterator
from typing import Any, Protocol

import torch

from rebatch.engine.task import Batch, Task

Tell = Callable[[str], None]
"""Is told what is next: somebody is waiting."""


class Loop(Protocol):
    """A training loop that can be taken up and left."""

    def turn(self, updates: int) -> float:
        """Make that many updates, after some to warm up, and return the seconds they took."""
        ...


def now(device: torch.device) -> float:
    """Return the time when all work given to the device is done."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return time.perf_counter()


class EpochClock:
    """Runs while a task is in an epoch, and stands while it is judged."""

    def __init__(self, task: Task, device: torch.device, tell: Tell = lambda what: None) -> None:
        self._batches: Callable[[int, int], Iterator[Batch]] = task.batches
        self._device, self._tell = device, tell
        watched: Any = task
        watched.batches = self._timed
        self.restart()

    def restart(self) -> None:
        """Forget all epochs."""
        self.finished: list[float] = []
        """Seconds of the epochs that have ended."""
        self._began = 0.0

    def read(self) -> float:
        """Return the seconds spent in epochs so far."""
        return sum(self.finished) + now(self._device) - self._began

    def _timed(self, epoch: int, done: int) -> Iterator[Batch]:
        self._tell(f"epoch {epoch}")
        self._began = now(self._device)
        yield from self._batches(epoch, done)
        self.finished.append(now(self._device) - self._began)


def take_turns(
    loops: dict[str, Loop], *, seconds: float, rounds: int, tell: Tell
) -> dict[str, list[float]]:
    """Return the updates a second of every loop, round by round.

    How many updates fill ``seconds`` is found out first, so that nothing but the turn's begin and
    end has to wait for the device.
    """
    lengths = {}
    for name, loop in loops.items():
        tell(name)
        lengths[name] = _length(loop, seconds)
    found: dict[str, list[float]] = {name: [] for name in loops}
    for _ in range(rounds):
        for name, loop in loops.items():
            tell(name)
            found[name].append(lengths[name] / loop.turn(lengths[name]))
    return found


def _length(loop: Loop, seconds: float) -> int:
    updates = 1
    while True:
        took = loop.turn(updates)
        if took >= seconds / 4:
            return max(1, round(updates * seconds / took))
        updates = max(updates + 1, round(updates * min(64.0, seconds / 3 / took)))
