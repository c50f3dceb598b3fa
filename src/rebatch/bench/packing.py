"""Several runs on one device at once: what they gain together over one run at a time.

Every run is a process of its own, as in a sweep, on a GPU under CUDA's multi-process service.  All
are started once and take part in as many rounds as there are levels to compare.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass
from typing import Any

import torch

from rebatch.bench.cells import Cell
from rebatch.bench.clock import Tell
from rebatch.bench.ours import ours_at
from rebatch.errors import RunError
from rebatch.recipes import override
from rebatch.sweeps import mps
from rebatch.sweeps._gpus import slots

ASKED = 1.25
"""How many times the updates of one run at a time several are to make together."""


@dataclass(frozen=True)
class Level:
    """So many runs at once."""

    jobs: int
    each: tuple[float, ...]
    """Updates a second of every run."""

    @property
    def together(self) -> float:
        """Updates a second of all of them."""
        return sum(self.each)


@dataclass(frozen=True)
class _Member:
    """What a process has to know to take part."""

    model: str
    size: int
    device: str
    engine: str
    settings: tuple[str, ...]
    share: float


def measure_packing(
    device: torch.device,
    *,
    cell: Cell,
    jobs: Sequence[int],
    seconds: float = 5.0,
    share: float = 1.0,
    engine: str = "auto",
    settings: tuple[str, ...] = (),
    tell: Tell = lambda what: None,
) -> tuple[list[Level], bool]:
    """Return the speeds of one run, then of each number of ``jobs``, and if there was a service."""
    member = _Member(cell.model, cell.batch_size, str(device), engine, settings, share)
    override(cell.recipe, settings)  # what makes no sense is refused here, not in every process
    on_gpu = device.type == "cuda"
    tell(f"starting {max(jobs)} runs")
    with mps() if on_gpu else nullcontext(slots(1, ())[0]) as extra:
        with _members(member, max(jobs), {**os.environ, **extra}) as members:
            levels = [_level(members[:count], seconds, tell) for count in dict.fromkeys((1, *jobs))]
        return levels, on_gpu and bool(extra)


@contextmanager
def _members(
    member: _Member, count: int, environment: dict[str, str]
) -> Iterator[list["subprocess.Popen[str]"]]:
    """Start the processes, and end them whatever happens."""
    line = [sys.executable, "-m", "rebatch.bench.packing", json.dumps(asdict(member))]
    paths = os.pathsep.join([path for path in sys.path if path])
    started: list[subprocess.Popen[str]] = []
    try:
        for _ in range(count):
            process = subprocess.Popen(
                line,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                env={**environment, "PYTHONPATH": paths},
            )
            started.append(process)
        for process in started:
            _heard(process)
        yield started
    finally:
        for process in started:
            process.kill()
            process.communicate()


def _level(members: "Sequence[subprocess.Popen[str]]", seconds: float, tell: Tell) -> Level:
    tell(f"{len(members)} at once")
    for process in members:
        assert process.stdin is not None
        process.stdin.write(f"{seconds}\n")
        process.stdin.flush()
    return Level(len(members), tuple(float(_heard(process)) for process in members))


def _heard(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        raise RunError(f"a run beside others ended with code {process.wait()}")
    return line


def _take_part(member: _Member) -> None:
    """Train for as many seconds as each line of the input says, and answer with the speed."""
    cell, device = Cell(member.model, member.size), torch.device(member.device)
    recipe = override(cell.recipe, member.settings)
    with ours_at(recipe, device=device, share=member.share, engine=member.engine) as ours:
        ours.turn(1)
        print("ready", flush=True)
        for line in sys.stdin:
            print(ours.speed(float(line)), flush=True)


def _main() -> None:
    told: dict[str, Any] = json.loads(sys.argv[1])
    _take_part(_Member(**{**told, "settings": tuple(told["settings"])}))


if __name__ == "__main__":
    _main()
