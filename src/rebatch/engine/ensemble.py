"""Snapshot ensembles: the models of a run's cycle ends, asked together."""

import copy
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm

from rebatch.engine.snapshots import load_snapshot
from rebatch.engine.task import Task, count
from rebatch.errors import InputError

Context = AbstractContextManager[object]
MOST_BATCHES = 400
"""How many training batches batch-norm statistics are taken anew on: CIFAR-10's epoch at 128."""


def evaluate_snapshots(
    model: nn.Module,
    task: Task,
    paths: Sequence[Path],
    context: Context,
    *,
    reestimated: bool = False,
) -> dict[str, Any]:
    """Judge the snapshots together: the mean of their probabilities.

    ``reestimated`` takes the statistics of batch norm anew for each member.
    """
    if not paths:
        raise InputError("snapshots must be at least one, got none")
    members = _members(copy.deepcopy(model), task, paths, context, reestimated)
    return {"members": [path.stem for path in paths], **task.evaluate(members, context)}


def _members(
    model: nn.Module, task: Task, paths: Sequence[Path], context: Context, reestimated: bool
) -> Iterator[nn.Module]:
    """Yield the members one after the other, in one and the same model."""
    for path in paths:
        load_snapshot(path, model)
        if reestimated:
            reestimate(model, task, context)
        yield model.eval()


@torch.no_grad()
def reestimate(model: nn.Module, task: Task, context: Context) -> None:
    """Take the running statistics of batch norm anew: the plain average over training batches."""
    layers = [module for module in model.modules() if isinstance(module, _BatchNorm)]
    kept = [layer.momentum for layer in layers]
    for layer in layers:
        layer.reset_running_stats()
        layer.momentum = None
    model.train()
    for batch in islice(task.batches(0, 0), MOST_BATCHES if layers else 0):
        memory = task.memory(model, count(batch, task.batch_dim))
        with context:
            task.loss(model, batch, memory)
    for layer, momentum in zip(layers, kept, strict=True):
        layer.momentum = momentum
