"""Snapshot ensembles: the models of a run's cycle ends, asked together."""

import copy
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm

from rebatch.engine.snapshots import load_snapshot
from rebatch.engine.task import Batch, Task
from rebatch.errors import InputError


def evaluate_snapshots(
    model: nn.Module,
    task: Task,
    paths: Sequence[Path],
    context: AbstractContextManager[object],
    *,
    batches: Iterable[Batch] | None = None,
) -> dict[str, Any]:
    """Judge the snapshots together: the mean of their probabilities.

    With ``batches`` the statistics of batch norm are taken anew on them for each member.
    """
    if not paths:
        raise InputError("snapshots must be at least one, got none")
    again = None if batches is None else list(batches)
    members = []
    for path in paths:
        member = copy.deepcopy(model)
        load_snapshot(path, member)
        if again is not None:
            reestimate(member, task, again)
        members.append(member.eval())
    figures = task.evaluate(members, context)
    return {"members": [path.stem for path in paths], **figures}


@torch.no_grad()
def reestimate(model: nn.Module, task: Task, batches: Sequence[Batch]) -> None:
    """Take the running statistics of batch norm anew, as a plain average over ``batches``."""
    layers = [module for module in model.modules() if isinstance(module, _BatchNorm)]
    kept = [layer.momentum for layer in layers]
    for layer in layers:
        layer.reset_running_stats()
        layer.momentum = None
    model.train()
    for batch in batches:
        task.loss(model, batch, task.memory(model, batch.targets.shape[task.batch_dim]))
    for layer, momentum in zip(layers, kept, strict=True):
        layer.momentum = momentum
