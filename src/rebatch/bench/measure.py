"""Measuring a cell: build both sides, let them take turns, count what an update has to do."""

import gc
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from rebatch.bench.cells import Cell
from rebatch.bench.clock import Loop, Tell, now, take_turns
from rebatch.bench.generated import generate, large_images
from rebatch.bench.ours import Ours, captured, make_job
from rebatch.bench.rivals import rivals
from rebatch.bench.roofline import Rates, Work, count_work, measure_rates
from rebatch.bench.speed import Speed
from rebatch.data import Normalize
from rebatch.data.sets.imagenet import MEAN, STD
from rebatch.recipes import Recipe, case, override
from rebatch.recipes._build import build_model


@dataclass(frozen=True)
class Pace:
    """How much is measured."""

    seconds: float = 1.0
    """Of a turn, warming up not counted."""
    rounds: int = 3
    share: float = 1.0
    """Of the data: below 1 only to try it out."""


def measure(
    cells: Sequence[Cell],
    device: torch.device,
    pace: Pace,
    *,
    engine: str = "auto",
    settings: Sequence[str] = (),
    tell: Tell = lambda what: None,
) -> Iterator[Speed]:
    """Yield the speeds of the cells, one after the other.

    ``settings`` change fields of the recipes, as ``--set`` does; ``tell`` is told what is next.
    """
    rates: dict[str, Rates] = {}
    for cell in cells:
        with tempfile.TemporaryDirectory() as folder:
            yield _Measurement(
                cell, override(cell.recipe, settings), device, Path(folder), pace, engine, rates
            ).speed(tell)
        if device.type == "cuda":
            gc.collect()
            torch.cuda.empty_cache()


class _Started(NamedTuple):
    """A loop that has made its first updates."""

    loop: Loop
    seconds: float
    """That they took."""
    memory: float | None
    """Bytes that the device set aside for it at most."""


@dataclass
class _Measurement:
    """One cell under measurement."""

    cell: Cell
    recipe: Recipe
    device: torch.device
    folder: Path
    pace: Pace
    engine: str
    rates: dict[str, Rates]
    """What the device can do, by precision, as far as it is known."""

    def speed(self, tell: Tell) -> Speed:
        """Build every loop, let them take turns, and put together what was found."""
        self.data = generate(self.recipe, self.pace.share)
        tell(f"{self.cell.name}: building")
        started = {name: _started(make, self.device) for name, make in self._makers().items()}
        rounds = take_turns(
            {name: loop for name, (loop, *_) in started.items()},
            seconds=self.pace.seconds,
            rounds=self.pace.rounds,
            tell=lambda name: tell(f"{self.cell.name}: {name.replace('_', ', ')}"),
        )
        return self._found(started, rounds)

    def _makers(self) -> dict[str, Callable[[], Loop]]:
        made: dict[str, Callable[[], Loop]] = {"ours": partial(self._ours, self.data)}
        if self.recipe.model == "I1":
            made["ours_resident"] = self._ours_resident
        return {**made, **rivals(self.recipe, self.data, self._model, self.device)}

    def _model(self) -> nn.Module:
        """Return a network for a plain loop: batch norm sees the whole batch."""
        # Not the GPU's numbers: cuDNN would make the state of its dropout anew, and the graphs that
        # are captured by then would go on with the old one.
        torch.default_generator.manual_seed(0)
        return build_model(self.recipe, self.data, None, self.folder, 0).to(self.device)

    def _ours(self, data: Any) -> Ours:
        made = case(self.recipe, "BL")
        return Ours(
            make_job(made, data, device=self.device, folder=self.folder, engine=self.engine)
        )

    def _ours_resident(self) -> Ours:
        ours = self._ours(large_images())
        task: Any = ours.job.learner.task
        task.normalize = Normalize(MEAN, STD).to(self.device)
        return ours

    def _found(self, started: dict[str, _Started], rounds: dict[str, list[float]]) -> Speed:
        ours = started["ours"].loop
        assert isinstance(ours, Ours)
        learner, plan = ours.job.learner, ours.job.plan
        if learner.precision not in self.rates:
            self.rates[learner.precision] = measure_rates(self.device, learner.precision)
        graphs, seconds = captured(learner)
        work, width = self._work(), 2 if learner.precision == "bf16" else 4
        usual = ours.first_updates / max(rounds["ours"])
        return Speed(
            model=self.cell.model,
            batch_size=self.cell.batch_size,
            asked=self.cell.asked,
            against="plain_bf16" if "plain_bf16" in rounds else "plain",
            engine=learner.engine,
            precision=learner.precision,
            updates_in_epoch=plan.updates_in(0),
            rounds=rounds,
            memory={name: m for name, (_, _, m) in started.items() if m is not None},
            graphs=graphs,
            capture_seconds=seconds,
            warm_up_seconds=max(0.0, started["ours"].seconds - usual),
            flops=work.flops,
            bytes=work.bytes(width),
            limit=self.rates[learner.precision].limit(work, width),
        )

    def _work(self) -> Work:
        """Count an update of the network, on a batch of zeros that is not there."""
        model = build_model(self.recipe, self.data, None, self.folder, 0).to("meta")
        size, kind = self.cell.batch_size, self.recipe.model[0]
        shapes = _shapes(self.recipe, self.data, size)
        inputs = [
            torch.zeros(shape, device="meta", dtype=None if kind in "CId" else torch.long)
            for shape in shapes
        ]
        count = size * self.recipe.bptt if kind == "L" else size
        targets = torch.zeros(count, device="meta", dtype=torch.long)

        def loss(model: nn.Module) -> Tensor:
            if kind != "L":
                return cross_entropy(model(*inputs), targets)
            start: Any = model.initial_state
            return cross_entropy(model(*inputs, start(size))[0].flatten(0, 1), targets)

        return count_work(model, loss, momentum=self.recipe.momentum > 0)


def _shapes(recipe: Recipe, data: Any, size: int) -> list[tuple[int, ...]]:
    """Return the shapes of what the network is given in an update."""
    kind = recipe.model[0]
    if kind == "L":
        return [(recipe.bptt, size)]
    if kind == "E":
        sides = (data["train"].premises[:size], data["train"].hypotheses[:size])
        return [(size, int((side != 0).sum(1).max())) for side in sides]
    return [(size, 3, 224, 224) if kind == "I" else (size, *data.train_images.shape[1:])]


def _started(make: Callable[[], Loop], device: torch.device) -> _Started:
    """Make a loop and its first updates; see how far the memory rises that the device holds.

    What is set aside counts, not what is in use: graphs keep their memory between updates.
    """
    before = _reserved(device)
    loop = make()
    began = now(device)
    loop.turn(1)
    seconds = now(device) - began
    if before is None:
        return _Started(loop, seconds, None)
    return _Started(loop, seconds, torch.cuda.max_memory_reserved(device) - before)


def _reserved(device: torch.device) -> int | None:
    if device.type != "cuda":
        return None
    gc.collect()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats(device)
    return torch.cuda.memory_reserved(device)
