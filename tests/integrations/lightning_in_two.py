"""A model that remembers what it is trained on, and what Lightning does with it.

``main`` does it in one of two processes and prints as JSON what test_lightning.py looks at.
"""

import json
import logging
import sys
import warnings
from collections import defaultdict
from pathlib import Path

import lightning.pytorch as pl
import torch
from lightning.fabric import Fabric
from torch import nn
from torch.utils.data import DataLoader, IterableDataset, TensorDataset

import rebatch
from rebatch.data import Dealt, PlannedBatchSampler, pieces
from rebatch.integrations.fabric import fabric_loader
from rebatch.integrations.lightning import BatchSizeSchedule

SAVED = 50
"""An update inside the second epoch of the cycle: 700 samples of it are still to come."""


def cycle(epochs=3):
    """Return a plan of 40, 10, 20 over 960 samples: 24, 96 and 48 updates."""
    schedule = rebatch.from_function(lambda epoch: (40, 10, 20)[epoch % 3])
    return rebatch.plan(schedule, epochs=epochs, examples=960)


def data(count=960):
    """Return numbered samples whose targets no line goes through."""
    generator = torch.Generator().manual_seed(1)
    inputs = torch.randn(count, 3, generator=generator, dtype=torch.float64)
    targets = torch.randn(count, 1, generator=generator, dtype=torch.float64)
    return TensorDataset(torch.arange(count), inputs, targets)


class Lines(IterableDataset):
    """The samples one by one; nobody has counted them."""

    def __init__(self, count=960):
        self.count, self.epochs = count, []

    def __iter__(self):
        yield from data(self.count)

    def set_epoch(self, epoch):
        self.epochs.append(epoch)


class Shuffled(Lines):
    """The samples in an order that the worker draws which reads them."""

    def __iter__(self):
        samples = data(self.count)
        yield from (samples[i] for i in torch.randperm(self.count))


def layer():
    torch.manual_seed(0)
    return nn.Linear(3, 1).double()


def loss_of(model, inputs, targets):
    return nn.functional.mse_loss(model(inputs), targets)


class Model(pl.LightningModule):
    """Keeps the samples and the lengths of its epochs, and the estimate it was given."""

    def __init__(self, schedule):
        super().__init__()
        self.layer, self.schedule = layer(), schedule
        self.seen, self.lengths, self.estimate = defaultdict(list), {}, None

    def training_step(self, batch):
        indices, inputs, targets = batch
        if self.schedule.piece.samples:
            self.seen[self.current_epoch] += indices.tolist()
        self.lengths[self.current_epoch] = self.trainer.num_training_batches
        return loss_of(self.layer, inputs, targets)

    def configure_optimizers(self):
        self.estimate = self.trainer.estimated_stepping_batches
        optimizer = torch.optim.SGD(self.parameters(), lr=0.1)
        rate = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, self.estimate)
        return [optimizer], [{"scheduler": rate, "interval": "step"}]


class Validated(Model):
    """A model with something to do at the end of an epoch."""

    def validation_step(self, batch):
        return loss_of(self.layer, *batch[1:])


class Save(pl.Callback):
    """Saves a checkpoint in one of Lightning's hooks, the first time ``when(trainer)`` holds.

    All ranks must come to save together: so each remembers, and none looks for the file, which
    the first may have written already.
    """

    def __init__(self, path, hook="on_train_batch_end", when=None):
        self.path, self.when = path, when or (lambda trainer: trainer.global_step == SAVED)
        self.saved = False
        setattr(self, hook, self.save)

    def save(self, trainer, *_):
        if not self.saved and self.when(trainer):
            self.saved = True
            trainer.save_checkpoint(self.path)


def trainer_of(schedule, *callbacks, **settings):
    quiet = {"logger": False, "enable_progress_bar": False, "enable_model_summary": False}
    given = {"max_epochs": 3, "accelerator": "cpu", "enable_checkpointing": False}
    return pl.Trainer(callbacks=[schedule, *callbacks], **{**quiet, **given, **settings})


def fit(
    *callbacks,
    resume=None,
    micro_batch_size=None,
    validate=False,
    stream=None,
    workers=0,
    **settings,
):
    """Return the trainer and the model of a run of the cycle, or of what remains of it."""
    schedule = BatchSizeSchedule(cycle(), micro_batch_size=micro_batch_size)
    model = Validated(schedule) if validate else Model(schedule)
    val = DataLoader(data(), batch_size=960) if validate else None
    trainer = trainer_of(schedule, *callbacks, **settings)
    loader = schedule.loader(stream or data(), num_workers=workers)
    trainer.fit(model, loader, val, ckpt_path=resume, weights_only=bool(resume) or None)
    return trainer, model


def found_by_trainer(*callbacks, **settings):
    trainer, model = fit(*callbacks, devices=2, strategy="ddp", **settings)
    return {
        "seen": model.seen,
        "lengths": model.lengths,
        "estimate": model.estimate,
        "global_step": trainer.global_step,
        "weights": model.layer.weight.flatten().tolist(),
    }


def found_by_fabric(path, *, save=False, resume=False, **settings):
    """Return what a loop written with Fabric sees of each epoch, and the weights it comes to."""
    fabric = Fabric(accelerator="cpu", **settings)
    fabric.launch()
    place = {"rank": fabric.global_rank, "world_size": fabric.world_size}
    sampler = PlannedBatchSampler(cycle(), micro_batch_size=7, **place)
    loader = fabric_loader(fabric, data(), sampler)
    net = layer()
    model, optimizer = fabric.setup(net, torch.optim.SGD(net.parameters(), lr=0.1))
    if resume:
        rest = fabric.load(path, {"model": model, "optimizer": optimizer})
        sampler.load_state_dict(rest["position"])
    seen = defaultdict(list)
    for epoch in range(sampler.epoch, 3):
        sampler.set_epoch(epoch)
        for piece, (indices, inputs, targets) in pieces(sampler, loader):
            seen[epoch] += indices.tolist() if piece.samples else []
            with fabric.no_backward_sync(model, enabled=not piece.last):
                fabric.backward(loss_of(model, inputs, targets) * piece.weight)
            if piece.last:
                optimizer.step()
                optimizer.zero_grad()
            if save and piece.last and piece.update + 1 == SAVED:
                position = sampler.state_dict(updates_done=piece.updates_done)
                state = {"model": model, "optimizer": optimizer, "position": position}
                fabric.save(path, state)
    return {"seen": seen, "weights": net.weight.flatten().tolist()}


def main():
    warnings.simplefilter("ignore")
    logging.disable(logging.INFO)
    folder, two = Path(sys.argv[1]), {"devices": 2, "strategy": "ddp"}
    fabric = folder / "fabric.ckpt"
    found = {
        "trained": found_by_trainer(Save(folder / "two.ckpt")),
        "resumed": found_by_trainer(resume=folder / "one.ckpt", micro_batch_size=3),
        "streamed": found_by_trainer(
            resume=folder / "stream.ckpt", micro_batch_size=3, stream=Dealt(Lines())
        ),
        "fabric": found_by_fabric(fabric, save=True, **two),
        "fabric resumed": found_by_fabric(fabric, resume=True, **two),
    }
    pl.seed_everything(0, workers=True)
    found["shuffled"] = found_by_trainer(stream=Shuffled(), workers=1, max_epochs=1)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
