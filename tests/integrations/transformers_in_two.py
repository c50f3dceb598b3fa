"""What the Trainer does in one of two processes: printed as JSON for test_transformers.py."""

import json
import os
import sys
from pathlib import Path

import torch
from torch import nn
from torch.utils.data import IterableDataset
from transformers import TrainingArguments

import rebatch
from rebatch.data import PlannedBatchSampler
from rebatch.integrations.transformers import PlannedTrainer


def cycle(epochs):
    """Return a plan of 40, 10, 20 over 960 samples: 24, 96 and 48 updates, and round again."""
    schedule = rebatch.from_function(lambda epoch: (40, 10, 20)[epoch % 3])
    return rebatch.plan(schedule, epochs=epochs, examples=960)


def ragged():
    """Return a plan of 9, 9 and 1: in pieces of 4 the second of two ranks has fillers."""
    return rebatch.plan(rebatch.constant(9), epochs=1, examples=19)


class Line(nn.Module):
    """A model that gives the mean over its batch."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.hidden, self.drop, self.out = nn.Linear(2, 8), nn.Dropout(0.2), nn.Linear(8, 1)

    def forward(self, x, labels):
        guess = self.out(self.drop(self.hidden(x).tanh()))
        return {"loss": nn.functional.mse_loss(guess, labels)}


class Words(nn.Module):
    """A model that gives the sum over its words divided by the number it is told."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.table = nn.Embedding(11, 11, dtype=torch.float64)

    def forward(self, input_ids, labels, num_items_in_batch=None, **_):
        scores = self.table(input_ids).flatten(0, 1)
        kind = "mean" if num_items_in_batch is None else "sum"
        loss = nn.functional.cross_entropy(scores, labels.flatten(), reduction=kind)
        return {"loss": loss if num_items_in_batch is None else loss / num_items_in_batch}


class Deaf(Words):
    """A model that takes the number, as many of Transformers' own do, and makes no use of it."""

    def forward(self, input_ids, labels, **_):
        return super().forward(input_ids, labels)


def points(count):
    x = torch.linspace(-1, 1, 2 * count).view(count, 2)
    return [{"x": x[i], "labels": x[i, :1].sin(), "index": torch.tensor(i)} for i in range(count)]


class Stream(IterableDataset):
    """Points that come one by one; nobody has counted them."""

    def __init__(self, count):
        self.count = count

    def __iter__(self):
        yield from points(self.count)


def sentences(count):
    """Return sentences of unequal length: -100 is no label."""
    generator = torch.Generator().manual_seed(2)
    words = torch.randint(0, 11, (count, 7), generator=generator)
    lengths = torch.randint(1, 8, (count, 1), generator=generator)
    labels = torch.where(torch.arange(7) < lengths, words.roll(1, 1), -100)
    return [{"input_ids": words[i], "labels": labels[i]} for i in range(count)]


class Noting(PlannedTrainer):
    """Takes note of the samples that train, by epoch."""

    def __init__(self, *positional, **named):
        super().__init__(*positional, **named)
        self.seen = {}

    def get_batch_samples(self, *positional):
        updates, items = super().get_batch_samples(*positional)
        for update in updates:  # none after the end of a stream
            for piece, batch in zip(update.pieces, update.batches, strict=True):
                if piece.samples:
                    epoch = self.plan.epoch_at(piece.update)[0]
                    self.seen.setdefault(epoch, []).extend(batch["index"].tolist())
        return updates, items

    def compute_loss(self, model, inputs, *positional, **named):
        del inputs["index"]
        return super().compute_loss(model, inputs, *positional, **named)


def arguments(folder, **changes):
    plain = {"use_cpu": True, "report_to": [], "disable_tqdm": True, "save_strategy": "no"}
    kept = {"dataloader_pin_memory": False, "remove_unused_columns": False}
    if "WORLD_SIZE" in os.environ:
        kept["ddp_backend"] = "gloo"
    return TrainingArguments(str(folder), **{**plain, **kept, **changes})


def noting(folder, epochs, **changes):
    own = {name: changes.pop(name) for name in ("callbacks", "eval_dataset") if name in changes}
    own["micro_batch_size"] = changes.pop("micro_batch_size", 15)
    args = arguments(folder, **{"learning_rate": 0.01, "logging_steps": 56, **changes})
    return Noting(Line(), args, train_dataset=points(960), plan=cycle(epochs), **own)


def streaming(folder, stream, micro_batch_size=15, **changes):
    """Train on the first 300 samples of a stream: 25 updates of 4, then 13 of up to 16."""
    plan = rebatch.plan(rebatch.thresholds({0: 4, 100: 16}, clock="samples"), samples=300)
    args = arguments(folder, learning_rate=0.01, **changes)
    named = {"train_dataset": stream, "plan": plan, "micro_batch_size": micro_batch_size}
    return Noting(Line(), args, **named)


def trained(folder, model, dataset, **named):
    """Return the weights after an epoch of the ragged plan by plain SGD, unclipped."""
    settings = {"optim": "sgd", "learning_rate": 0.1, "max_grad_norm": 0.0}
    settings["lr_scheduler_type"] = "constant"
    args = arguments(folder, **settings)
    trainer = PlannedTrainer(model, args, train_dataset=dataset, plan=ragged(), **named)
    trainer.train()
    return weights(trainer.model)


def by_hand(model, dataset, loss):
    """Return the weights after the same updates, each made of one batch."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for indices in PlannedBatchSampler(ragged(), 42):
        rows = [dataset[i] for i in indices]
        optimizer.zero_grad()
        loss({name: torch.stack([row[name] for row in rows]) for name in rows[0]}).backward()
        optimizer.step()
    return weights(model)


def weights(model):
    return torch.cat([weight.detach().flatten() for weight in model.parameters()]).tolist()


def main():
    folder = Path(sys.argv[1])
    first = noting(folder, 3, save_strategy="steps", save_steps=70)
    first.train()
    again = noting(folder, 3)
    again.train(resume_from_checkpoint=str(folder / "checkpoint-70"))
    found = {
        "seen": first.seen,
        "resumed": again.seen,
        "same": weights(first.model) == weights(again.model),
        "steps": first.state.global_step,
        "logs": first.state.log_history,
    }
    stream = streaming(folder, Stream(400))
    stream.train()
    found["stream"] = stream.seen[0]
    for name, kind in {"words": Words, "deaf": Deaf}.items():
        found[name] = trained(folder, kind(), sentences(19), micro_batch_size=4)
    print(json.dumps(found))
