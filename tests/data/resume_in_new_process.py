"""Load a sampler's state in a process of its own and print what comes next."""

import json
import sys

import torch

import rebatch
from rebatch.data import PlannedBatchSampler

if __name__ == "__main__":
    plan = rebatch.plan(rebatch.cyclical(10, width=1, steps=3), epochs=6, examples=100)
    sampler = PlannedBatchSampler(plan, 5)
    sampler.load_state_dict(torch.load(sys.argv[1], weights_only=True))
    print(json.dumps(list(sampler)))
