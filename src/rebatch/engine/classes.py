"""How classifiers are judged: one of them, or several together."""

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor


def judge(name: str, batches: Iterable[tuple[Sequence[Tensor], Tensor]]) -> dict[str, float]:
    """Return loss and accuracy of the mean of the members' probabilities.

    Each batch holds the logits of every member and the labels.  The mean of probabilities is
    never worse, in loss, than the mean of the members' losses.

    >>> even = torch.zeros(1, 2)
    >>> judge("test", [([even, torch.tensor([[0.0, 9.0]])], torch.tensor([1]))])["test_accuracy"]
    100.0
    """
    total = correct = torch.zeros((), dtype=torch.float64)
    count = 0
    for logits, labels in batches:
        chances = torch.stack([member.float().softmax(1) for member in logits]).mean(0)
        right = chances.gather(1, labels[:, None])
        total = total.to(right.device) - right.clamp_min(1e-38).log().sum(dtype=torch.float64)
        correct = correct.to(right.device) + (chances.argmax(1) == labels).sum()
        count += len(labels)
    return {
        f"{name}_loss": float(total) / count,
        f"{name}_accuracy": 100 * float(correct) / count,
    }
