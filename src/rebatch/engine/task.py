"""What the engine asks of a problem: batches to learn from, a loss, and a judgement."""

import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol

import torch
from torch import Tensor, nn

from rebatch import Plan
from rebatch.engine.ranks import Ranks

Memory = tuple[Tensor, ...] | None
"""What a model carries from one update to the next: an LSTM's hidden state, columns along
dimension 1; or nothing."""


class Batch(NamedTuple):
    """The data of one update, on the device."""

    inputs: tuple[Tensor, ...]
    targets: Tensor
    reset: bool = False
    """Whether what the model carries from before has to be forgotten."""
    first: int = 0
    """Place of the first sample inside its update: 0, or more in a micro-batch."""
    attacked: bool = False
    """Whether a share of the samples is to be replaced by adversarial neighbours."""
    total: int | None = None
    """Samples, or columns, of the whole update, where this is one rank's part of it."""


class Loss(NamedTuple):
    """What a forward pass gives."""

    mean: Tensor
    """The loss averaged over the samples of the batch."""
    correct: Tensor | None
    """How many predictions are right, where that can be counted."""
    memory: Memory = None


class Task(Protocol):
    """A problem: images to classify, a text to continue, pairs of sentences to compare."""

    batch_dim: int
    """The dimension that samples are counted along: 0, or 1 for columns of text."""
    selects_by: str
    """The metric that picks the best epoch; a ``test_`` one is marked as optimistic."""

    def batches(self, epoch: int, done: int) -> Iterator[Batch]:
        """Yield the batches of an epoch, from the update after the ``done`` first ones on."""
        ...

    def follow(self, plan: Plan) -> None:
        """Give the batches of a plan that has grown from the one so far."""
        ...

    def plain_batch(self, size: int, seed: int) -> Batch:
        """Return ``size`` training samples as they are, not augmented, picked by the seed.

        They are fewer where there are fewer; of text they are columns, each from its own place.
        """
        ...

    def prepare(self, model: nn.Module, batch: Batch) -> Batch:
        """Change a batch by what the model is before the update.

        All micro-batches of an update are prepared before the first is learnt from, which may
        change the model's statistics.
        """
        ...

    def loss(self, model: nn.Module, batch: Batch, memory: Memory) -> Loss:
        """Return the loss of a batch."""
        ...

    def memory(self, model: nn.Module, batch_size: int) -> Memory:
        """Return what the model carries before the first batch of a stretch."""
        ...

    def evaluate(
        self, models: Iterable[nn.Module], context: AbstractContextManager[object]
    ) -> dict[str, float]:
        """Judge the mean prediction of the models (often just one) on the held-out data.

        Each is done with before the next is asked for, so that they may share their memory.
        """
        ...


def count(batch: Batch, dim: int) -> int:
    """Return the number of samples, or columns, in a batch."""
    return batch.targets.shape[dim]


def whole(batch: Batch, dim: int) -> int:
    """Return the number of samples, or columns, in the update that a batch is of."""
    return count(batch, dim) if batch.total is None else batch.total


def samples(batch: Batch, dim: int) -> int:
    """Return how many losses the update averages over: its samples, or tokens."""
    if batch.total is None:
        return batch.targets.numel()
    return batch.total * math.prod(batch.targets.shape[:dim])


def own_part(batch: Batch, dim: int, ranks: Ranks, group: int) -> Batch:
    """Return one rank's part of an update, in whole groups; it may be empty."""
    if ranks.size == 1 or batch.total is not None:
        return batch
    total = count(batch, dim)
    start, stop = ranks.span(total, group)
    return _part(batch, None, dim, start, stop - start)[0]._replace(total=total)


def own_columns(memory: Memory, ranks: Ranks) -> Memory:
    """Return the columns of a memory that belong to one rank's part of the update."""
    if memory is None or ranks.size == 1:
        return memory
    start, stop = ranks.span(memory[0].shape[1])
    return tuple(tensor[:, start:stop].contiguous() for tensor in memory)


def split(batch: Batch, memory: Memory, dim: int, size: int) -> list[tuple[Batch, Memory]]:
    """Cut a batch into micro-batches of at most ``size`` samples, each with its own memory."""
    total = count(batch, dim)
    if size >= total:
        return [(batch, memory)] if total else []
    return [
        _part(batch, memory, dim, start, min(size, total - start))
        for start in range(0, total, size)
    ]


def _part(batch: Batch, memory: Memory, dim: int, start: int, length: int) -> tuple[Batch, Memory]:
    part = batch._replace(
        inputs=tuple(tensor.narrow(dim, start, length) for tensor in batch.inputs),
        targets=batch.targets.narrow(dim, start, length),
        first=batch.first + start,
    )
    if memory is None:
        return part, None
    return part, tuple(tensor.narrow(1, start, length).contiguous() for tensor in memory)


def joined(memories: Sequence[Memory]) -> Memory:
    """Put the memories of micro-batches side by side again, cut off from their history."""
    known = [memory for memory in memories if memory is not None]
    if len(known) <= 1:
        return tuple(tensor.detach() for tensor in known[0]) if known else None
    return tuple(torch.cat(tensors, dim=1).detach() for tensors in zip(*known, strict=True))


def picked(total: int, size: int, seed: int) -> Tensor:
    """Return the numbers of up to ``size`` different samples of ``total``."""
    return torch.randperm(total, generator=torch.Generator().manual_seed(seed))[:size]


def lower_is_better(metric: str) -> bool:
    """Tell whether a smaller value of the metric is the better one."""
    return metric.endswith(("perplexity", "loss"))
