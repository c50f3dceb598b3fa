"""Where a run stands: small values that a checkpoint keeps beside the weights."""

import math
from dataclasses import dataclass, field, fields
from typing import Any

import torch
from torch import Tensor

from rebatch.engine.gauges import GradientNoise
from rebatch.engine.outcome import Outcome
from rebatch.engine.rows import RowSums
from rebatch.engine.task import Memory, lower_is_better
from rebatch.policies import Seen


@dataclass
class Tally:
    """Sums over the updates of an epoch so far, on the device until they are asked for."""

    loss: Tensor | float = 0.0
    correct: Tensor | float = 0.0
    samples: int = 0
    updates: int = 0
    clipped: Tensor | float = 0.0
    norm: Tensor | float = 0.0

    def add(self, outcome: Outcome, samples: int, clip: float | None) -> None:
        """Take in one update, without reading anything from the device."""
        self.loss = self.loss + outcome.loss * samples
        self.norm = self.norm + outcome.norm
        if outcome.correct is not None:
            self.correct = self.correct + outcome.correct
        if clip is not None:
            self.clipped = self.clipped + (outcome.norm > clip)
        self.samples += samples
        self.updates += 1

    def is_finite(self) -> bool:
        """Tell whether losses and gradients were numbers so far; this waits for the device."""
        return math.isfinite(float(self.loss + self.norm))

    def figures(self, *, counts_correct: bool) -> dict[str, float]:
        """Return the means as metrics."""
        figures = {
            "train_loss": float(self.loss) / self.samples,
            "gradient_norm": float(self.norm) / self.updates,
            "clipped_share": float(self.clipped) / self.updates,
        }
        if counts_correct:
            figures["train_accuracy"] = 100 * float(self.correct) / self.samples
        return figures


@dataclass
class Progress:
    """The position of a run and what it has found out on the way."""

    epoch: int = 0
    done: int = 0
    """Updates of this epoch that are finished."""
    update: int = 0
    """Updates finished since the start of training."""
    seconds: float = 0.0
    log_length: int = 0
    history: list[float] = field(default_factory=list)
    """The metric that selects, epoch by epoch."""
    final: dict[str, float] = field(default_factory=dict)
    """The figures of the last finished epoch."""
    best: dict[str, Any] | None = None
    extremes: dict[str, float] = field(default_factory=dict)
    """The best value each test metric ever had: optimistic, since the test set picked it."""
    tally: Tally = field(default_factory=Tally)
    noise: GradientNoise = field(default_factory=GradientNoise)
    memory: Memory = None
    row: RowSums | None = None
    """Of the row under way, where a policy is to be told of it."""
    seen: list[Seen] = field(default_factory=list)
    """The finished rows that a policy has been told of."""

    def begin(self, epoch: int) -> None:
        """Go to an epoch; the one that is under way goes on."""
        if epoch != self.epoch:
            self.epoch, self.done, self.tally, self.memory = epoch, 0, Tally(), None

    def add(self, outcome: Outcome, samples: int, clip: float | None) -> None:
        """Take in a finished update."""
        self.tally.add(outcome, samples, clip)
        self.noise.add(outcome.noise)
        if self.row is not None:
            self.row.measure(outcome.noise)
        self.memory = outcome.memory
        self.done += 1
        self.update += 1

    def judge(self, figures: dict[str, float], metric: str) -> None:
        """Take in the figures of a finished epoch: history, best so far, extremes."""
        self.final = figures
        value = figures[metric]
        self.history.append(value)
        if self.best is None or better(value, float(self.best[metric]), metric):
            self.best = {"by": metric, "epoch": self.epoch, **figures}
        for name, found in figures.items():
            if name.startswith("test_"):
                known = self.extremes.get(name, found)
                self.extremes[name] = found if better(found, known, name) else known

    def values(self) -> dict[str, Any]:
        """Return everything as values that a checkpoint may hold."""
        plain = {f.name: getattr(self, f.name) for f in fields(self)}
        plain["tally"] = {
            name: float(value) if isinstance(value, Tensor) else value
            for name, value in vars(self.tally).items()
        }
        plain["noise"] = self.noise.values()
        plain["row"] = None if self.row is None else self.row.values()
        plain["seen"] = [list(row) for row in self.seen]
        return plain

    @classmethod
    def restored(cls, values: dict[str, Any]) -> "Progress":
        """Return the progress that `values` described."""
        memory, row = values["memory"], values.get("row")
        return cls(
            **{
                **values,
                "tally": Tally(**values["tally"]),
                "noise": GradientNoise(**values["noise"]),
                "memory": None if memory is None else tuple(memory),
                "row": None if row is None else RowSums(**row),
                "seen": [Seen(*told) for told in values.get("seen", ())],
            }
        )


def better(value: float, than: float, metric: str) -> bool:
    """Tell whether one value of a metric is strictly better than another; NaN never is."""
    return value < than if lower_is_better(metric) else value > than


def random_states(device: torch.device) -> dict[str, Tensor]:
    """Return the states of the generators that dropout draws from."""
    states = {"cpu": torch.get_rng_state()}
    if device.type == "cuda":
        states["cuda"] = torch.cuda.get_rng_state(device)
    return states


def restore_random_states(states: dict[str, Tensor], device: torch.device) -> None:
    """Set the generators to where they were."""
    torch.set_rng_state(states["cpu"].cpu())
    if device.type == "cuda" and "cuda" in states:
        torch.cuda.set_rng_state(states["cuda"].cpu(), device)
