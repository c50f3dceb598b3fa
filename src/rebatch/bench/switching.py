"""The price of another batch size: what is known of a size in the first cycle serves the later."""

import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from rebatch import Plan
from rebatch.bench.cells import Cell
from rebatch.bench.clock import EpochClock, Tell
from rebatch.bench.generated import generate
from rebatch.bench.ours import make_job
from rebatch.engine.loop import train
from rebatch.recipes import case, override

EPOCHS = 8
"""Of a cycle of CBS-2."""
ALLOWED = 0.03
"""How much longer than its second the first epoch of a step may take, after the first cycle."""


@dataclass(frozen=True)
class Step:
    """The first two epochs of a step of a cycle, in seconds."""

    cycle: int
    batch_size: int
    first: float
    second: float

    @property
    def excess(self) -> float:
        """How much longer the first epoch took, as a share of the second."""
        return self.first / self.second - 1


def measure_switching(
    device: torch.device,
    *,
    model: str = "L1",
    cycles: int = 2,
    share: float = 1.0,
    engine: str = "auto",
    settings: tuple[str, ...] = (),
    tell: Tell = lambda what: None,
) -> list[Step]:
    """Train through whole cycles of CBS-2 on generated data; evaluation is not counted."""
    recipe = override(Cell(model, 1).recipe, settings)
    recipe = replace(recipe, epochs=EPOCHS * cycles)
    with tempfile.TemporaryDirectory() as folder:
        made = case(recipe, "CBS-2")
        data = generate(recipe, share)
        job = make_job(made, data, device=device, folder=Path(folder), engine=engine)
        clock = EpochClock(job.learner.task, device, tell)
        train(job)
    return steps(job.plan, clock.finished)


def steps(plan: Plan, seconds: list[float]) -> list[Step]:
    """Return the steps of a plan whose epochs took so many seconds."""
    found = []
    for row in plan.rows:
        first, second = (seconds[int(row.first_epoch) + later] for later in (0, 1))
        found.append(Step(row.cycle, row.batch_size, first, second))
    return found
