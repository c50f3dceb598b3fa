"""What tasks of telling classes apart share: the loss, and how models are judged."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager

import torch
from torch import Tensor, nn
from torch.nn import functional

from rebatch.engine.precision import wide
from rebatch.engine.ranks import ALONE, Ranks
from rebatch.engine.task import Batch, Loss, Memory

Predict = Callable[[nn.Module], Iterable[tuple[Tensor, Tensor]]]
"""Gives the logits of a model on a held-out set, batch by batch, with the labels."""


class Classifier:
    """A task whose batches go to the model as they are, and which carries nothing over."""

    batch_dim = 0

    def memory(self, model: nn.Module, batch_size: int) -> Memory:
        """Samples carry nothing over."""
        return None

    def prepare(self, model: nn.Module, batch: Batch) -> Batch:
        """Leave the batch as it is."""
        return batch

    def loss(self, model: nn.Module, batch: Batch, memory: Memory) -> Loss:
        """Return the mean cross-entropy."""
        logits = wide(model(*batch.inputs))
        correct = (logits.argmax(1) == batch.targets).sum()
        return Loss(functional.cross_entropy(logits, batch.targets), correct)


@torch.no_grad()
def judge(
    models: Iterable[nn.Module],
    held_out: Mapping[str, Predict],
    context: AbstractContextManager[object],
    *,
    ranks: Ranks = ALONE,
    totals: Mapping[str, int] | None = None,
) -> dict[str, float]:
    """Return loss and accuracy, in per cent, of the mean of the models' probabilities.

    The models are asked one after the other, so that they need not be in memory together.  The
    loss is never worse than the mean of the members' losses.  Of several ``ranks`` each predicts
    its own part of the ``totals`` samples.

    >>> from contextlib import nullcontext
    >>> sure, unsure = torch.tensor([[0.0, 9.0]]), torch.zeros(1, 2)
    >>> models = [nn.Bilinear(1, 1, 1), nn.Linear(1, 1)]
    >>> def predict(model):
    ...     return [(sure if isinstance(model, nn.Linear) else unsure, torch.tensor([1]))]
    >>> judge(models, {"test": predict}, nullcontext())["test_accuracy"]
    100.0
    """
    sums: dict[str, tuple[Tensor, Tensor]] = {}
    members = 0
    for model in models:
        members += 1
        for name, predict in held_out.items():
            with context:
                chances, labels = _chances(predict(model))
            sums[name] = (sums[name][0] + chances if name in sums else chances, labels)
    figures: dict[str, float] = {}
    for name, (chances, labels) in sums.items():
        total = (totals or {}).get(name, len(labels))
        figures |= _figures(name, chances / members, labels, ranks, total)
    return figures


def _chances(batches: Iterable[tuple[Tensor, Tensor]]) -> tuple[Tensor, Tensor]:
    logits, labels = zip(*batches, strict=True)
    return torch.cat([wide(part).softmax(1) for part in logits]), torch.cat(labels)


def _figures(
    name: str, chances: Tensor, labels: Tensor, ranks: Ranks, total: int
) -> dict[str, float]:
    right = ranks.joined(chances.gather(1, labels[:, None]).clamp_min(1e-38), 0, total)
    correct = ranks.joined(chances.argmax(1) == labels, 0, total).sum()
    return {
        f"{name}_loss": -float(right.log().mean(dtype=torch.float64)),
        f"{name}_accuracy": 100 * float(correct) / total,
    }
