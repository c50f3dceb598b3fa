"""An engine that remembers what it was fed, and what it does in one of two processes.

``main`` prints as JSON what test_ignite.py looks at.
"""

import json
import sys
from collections import defaultdict
from pathlib import Path

import ignite.distributed as idist
import torch
from ignite.engine import Engine, Events
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import rebatch
from rebatch.data import PlannedBatchSampler
from rebatch.integrations.ignite import attach

SAVED = 50
"""An update inside the second epoch of the cycle: 700 samples of it are still to come."""


def cycle(sizes=(40, 10, 20)):
    """Return a plan over 960 samples: 24, 96 and 48 updates."""
    schedule = rebatch.from_function(lambda epoch: sizes[epoch % 3])
    return rebatch.plan(schedule, epochs=3, examples=960)


def data():
    """Return numbered samples whose targets no line goes through."""
    generator = torch.Generator().manual_seed(1)
    inputs = torch.randn(960, 3, generator=generator, dtype=torch.float64)
    targets = torch.randn(960, 1, generator=generator, dtype=torch.float64)
    return TensorDataset(torch.arange(960), inputs, targets)


class Training:
    """A training by ignite that can be saved once, at update 50, and gone on with."""

    def __init__(self, plan=None, micro_batch_size=None, **place):
        self.sampler = PlannedBatchSampler(
            plan or cycle(), micro_batch_size=micro_batch_size, **place
        )
        torch.manual_seed(0)
        self.net = nn.Linear(3, 1).double()
        self.model = idist.auto_model(self.net)
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.1)
        self.seen, self.lengths = defaultdict(list), {}
        self.saved = None
        self.engine = Engine(self.step)
        # Before the plan is attached: the order of handlers must not matter.
        self.engine.add_event_handler(Events.ITERATION_COMPLETED, self.keep)
        attach(self.engine, self.sampler)

    def step(self, engine, batch):
        indices, inputs, targets = batch
        piece, epoch = engine.state.piece, engine.state.epoch - 1
        self.seen[epoch] += indices.tolist() if piece.samples else []
        self.lengths[epoch] = int(engine.state.epoch_length)
        (nn.functional.mse_loss(self.model(inputs), targets) * piece.weight).backward()
        if piece.last:
            self.optimizer.step()
            self.optimizer.zero_grad()

    def keep(self, engine):
        piece = engine.state.piece
        if piece.last and piece.update + 1 == SAVED:
            net = {name: weight.clone() for name, weight in self.net.state_dict().items()}
            self.saved = {"engine": engine.state_dict(), "net": net}

    def run(self, saved=None, *, num_workers=0):
        if saved:
            self.engine.load_state_dict(saved["engine"])
            self.net.load_state_dict(saved["net"])
        loader = DataLoader(data(), batch_sampler=self.sampler, num_workers=num_workers)
        self.engine.run(loader, max_epochs=3)
        return self

    @property
    def weights(self):
        return self.net.weight.flatten().tolist()

    def found(self):
        return {"seen": self.seen, "lengths": self.lengths, "weights": self.weights}


def main():
    idist.initialize("gloo")
    place = {"rank": idist.get_rank(), "world_size": 2}
    saved = torch.load(Path(sys.argv[1]), weights_only=True)
    found = {
        "trained": Training(**place).run().found(),
        "resumed": Training(**place, micro_batch_size=3).run(saved).found(),
    }
    idist.finalize()
    print(json.dumps(found))


if __name__ == "__main__":
    main()
