"""One of two processes: print how far DDP's gradients are from those of one large batch."""

import json
import sys

import torch
from test_gradients import (
    Reader,
    difference,
    distance,
    gradients,
    mlp,
    numbers,
    plan,
    predicted,
    sentences,
    surprise,
)
from torch import distributed
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader

from rebatch.data import PlannedBatchSampler, pieces


def shared_gradients(model, dataset, loss, *, tokens=None):
    """Return the gradient of each update as DDP leaves it on this rank."""
    spread = DistributedDataParallel(model)
    rank = distributed.get_rank()
    sampler = PlannedBatchSampler(plan(), 4, rank=rank, world_size=2, micro_batch_size=3)
    loader, found = DataLoader(dataset, batch_sampler=sampler), []
    for piece, batch in pieces(sampler, loader, tokens=tokens):
        spread.require_backward_grad_sync = piece.last
        (loss(spread, batch) * piece.weight).backward()
        if piece.last:
            found.append(torch.cat([weight.grad.flatten() for weight in model.parameters()]))
            model.zero_grad()
    return found


if __name__ == "__main__":
    torch.set_num_threads(1)
    rank, store = int(sys.argv[1]), sys.argv[2]
    distributed.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=2)
    over_mlp = shared_gradients(mlp(), numbers(), distance)
    over_lstm = shared_gradients(Reader(), sentences(), surprise, tokens=predicted)
    distributed.destroy_process_group()
    far = {
        "mlp": difference(gradients(mlp(), numbers(), distance), over_mlp),
        "lstm": difference(gradients(Reader(), sentences(), surprise), over_lstm),
    }
    print(json.dumps(far))
