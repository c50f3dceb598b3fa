"""What the engine asks of a problem: batches to learn from, a loss, and a judgement."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol

from torch import Tensor, nn

Memory = tuple[Tensor, ...] | None
"""What a model carries from one update to the next: the hidden state of an LSTM, or nothing."""


class Batch(NamedTuple):
    """The data of one update, on the device."""

    inputs: tuple[Tensor, ...]
    targets: Tensor
    reset: bool = False
    """Whether what the model carries from before has to be forgotten."""
    first: int = 0
    """Place of the first sample inside its update: 0, or more in a micro-batch."""


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

    def loss(self, model: nn.Module, batch: Batch, memory: Memory) -> Loss:
        """Return the loss of a batch."""
        ...

    def memory(self, model: nn.Module, batch_size: int) -> Memory:
        """Return what the model carries before the first batch of a stretch."""
        ...

    def evaluate(
        self, models: Sequence[nn.Module], context: AbstractContextManager[object]
    ) -> dict[str, float]:
        """Judge the mean prediction of the models (often just one) on the held-out data."""
        ...


def count(batch: Batch, dim: int) -> int:
    """Return the number of samples, or columns, in a batch."""
    return batch.targets.shape[dim]


def split(batch: Batch, dim: int, size: int | None) -> list[Batch]:
    """Cut a batch into micro-batches of at most ``size`` samples, in order."""
    total = count(batch, dim)
    if size is None or size >= total:
        return [batch]
    return [
        batch._replace(
            inputs=tuple(
                tensor.narrow(dim, start, min(size, total - start)) for tensor in batch.inputs
            ),
            targets=batch.targets.narrow(dim, start, min(size, total - start)),
            first=batch.first + start,
        )
        for start in range(0, total, size)
    ]


def lower_is_better(metric: str) -> bool:
    """Tell whether a smaller value of the metric is the better one."""
    return metric.endswith(("perplexity", "loss"))
