"""What torchdata's loader gives one of two processes: printed as JSON for test_torchdata.py."""

import json
import os
import sys
import warnings

import torch
from torch import distributed

import rebatch
from rebatch.data import PlannedBatchSampler, pieces
from rebatch.integrations.torchdata import PlannedDataLoader


def fed(state=None):
    """Return the samples of all processes, epoch by epoch, from the start or from a state."""
    schedule = rebatch.from_function(lambda epoch: (40, 10, 20)[epoch % 3])
    plan = rebatch.plan(schedule, epochs=3, examples=960)
    place = {"rank": distributed.get_rank(), "world_size": 2}
    sampler = PlannedBatchSampler(plan, micro_batch_size=3, **place)
    loader = PlannedDataLoader(range(960), sampler, num_workers=2)
    if state:
        loader.load_state_dict(state)
    epochs = []
    for epoch in range(sampler.epoch, 3):
        sampler.set_epoch(epoch)
        seen = [batch.tolist() for piece, batch in pieces(sampler, loader) if piece.samples]
        everybody = [None, None]
        distributed.all_gather_object(everybody, seen)
        epochs.append(sorted(index for rank in everybody for batch in rank for index in batch))
    return epochs


def main():
    warnings.simplefilter("ignore")
    distributed.init_process_group("gloo", rank=int(os.environ["RANK"]), world_size=2)
    state = torch.load(sys.argv[1], weights_only=True)
    print(json.dumps({"fed": fed(), "resumed": fed(state)}))


if __name__ == "__main__":
    main()
