"""What Accelerate does in one of two processes: printed as JSON for test_accelerate.py."""

import json
import sys
from pathlib import Path

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import rebatch
from rebatch.data import PlannedBatchSampler, pieces
from rebatch.integrations.accelerate import PlannedLoader


def cycle():
    """Return a plan of 40, 10, 20 over 960 samples: 24, 96 and 48 updates, twice."""
    schedule = rebatch.from_function(lambda epoch: (40, 10, 20)[epoch % 3])
    return rebatch.plan(schedule, epochs=6, examples=960)


def prepared(**place):
    """Return an epoch's indices and sizes through ``accelerator.prepare`` of torch's loader."""
    sampler = PlannedBatchSampler(cycle(), 0, **place)
    loader = Accelerator(cpu=True).prepare(DataLoader(range(960), batch_sampler=sampler))
    epochs = []
    for epoch in range(3):
        loader.set_epoch(epoch)
        paired = list(pieces(sampler, loader))
        batches = [batch.tolist() for _, batch in paired]
        weights = sum(piece.weight for piece, _ in paired)
        epochs.append({"batches": batches, "length": len(loader), "weights": weights})
    return epochs


def fed(folder, *, resume):
    """Return the indices of each epoch from a loader that starts, or goes on from ``folder``."""
    accelerator = Accelerator(cpu=True)
    loader = PlannedLoader(accelerator, range(960), cycle(), micro_batch_size=7)
    if resume:
        accelerator.load_state(folder)
    seen = {}
    for epoch in loader.epochs():
        for piece, batch in loader:
            if piece.samples:
                seen.setdefault(epoch, []).extend(batch.tolist())
            if not resume and epoch == 1 and piece.updates_done == 50 and piece.last:
                accelerator.save_state(folder)
                accelerator.wait_for_everyone()  # or one may load what the other still writes
    return seen


def data():
    generator = torch.Generator().manual_seed(1)
    inputs = torch.randn(37, 6, generator=generator, dtype=torch.float64)
    return TensorDataset(inputs, torch.randn(37, 3, generator=generator, dtype=torch.float64))


def trained():
    """Return the weights after updates of 16, 16 and 5, the rates, and a gradient each piece."""
    set_seed(0)
    accelerator = Accelerator(cpu=True)
    model = nn.Sequential(nn.Linear(6, 12), nn.Tanh(), nn.Linear(12, 3)).double()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, total_iters=3)
    plan = rebatch.plan(rebatch.constant(16), epochs=1, examples=37)
    loader = PlannedLoader(accelerator, data(), plan, micro_batch_size=3)
    model, optimizer, scheduler = accelerator.prepare(model, optimizer, scheduler)
    rates, held = [], []
    for piece, (inputs, targets) in loader:
        with loader.accumulate(piece, model):
            loss = nn.functional.mse_loss(model(inputs), targets)
            accelerator.backward(loss * piece.weight)
            held.append((piece.last, next(model.parameters()).grad[0, 0].item()))
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()
        if piece.last:
            rates.append(scheduler.get_last_lr()[0])
    weights = torch.cat([weight.detach().flatten() for weight in model.parameters()])
    return {"weights": weights.tolist(), "rates": rates, "held": held}


def main():
    folder = str(Path(sys.argv[1]) / "state")
    rank = Accelerator(cpu=True).process_index
    found = {
        "alone": prepared(),
        "given a rank": prepared(rank=rank, world_size=2),
        "micro": prepared(micro_batch_size=3),
        "fed": fed(folder, resume=False),
        "resumed": fed(folder, resume=True),
        "folder": folder,
        "data": [values.tolist() for values in data().tensors],
        **trained(),
    }
    print(json.dumps(found))
