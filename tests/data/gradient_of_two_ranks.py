"""One of two processes: print how far DDP's gradients are from those of one large batch."""

import json
import sys

import torch
from torch import distributed
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader

from rebatch.data import PlannedBatchSampler, pieces


def shared_gradients(plan, model, dataset, loss, *, tokens=None):
    """Return the gradient of each update as DDP leaves it on this rank."""
    spread = DistributedDataParallel(model)
    rank = distributed.get_rank()
    sampler = PlannedBatchSampler(plan, 4, rank=rank, world_size=2, micro_batch_size=2)
    loader, found = DataLoader(dataset, batch_sampler=sampler), []
    for piece, batch in pieces(sampler, loader, tokens=tokens):
        spread.require_backward_grad_sync = piece.last
        (loss(spread, batch) * piece.weight).backward()
        if piece.last:
            found.append(torch.cat([weight.grad.flatten() for weight in model.parameters()]))
            model.zero_grad()
    return found


def main(rank, store):
    import test_gradients as one  # found beside this script, which tests are not for each other

    torch.set_num_threads(1)
    distributed.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=2)
    cases = {
        "mlp": (one.mlp(), one.numbers(), one.distance, None),
        "lstm": (one.Reader(), one.sentences(), one.surprise, one.predicted),
    }
    far = {}
    for name, (model, data, loss, tokens) in cases.items():
        shared = shared_gradients(one.plan(), model, data, loss, tokens=tokens)
        far[name] = one.difference(one.gradients(model, data, loss), shared)
    distributed.destroy_process_group()
    print(json.dumps(far))


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
