"""Pairs of sentences to compare; judged by accuracy."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager

import torch
from torch import Tensor, nn
from torch.nn import functional

from rebatch import Plan
from rebatch.data import TensorLoader
from rebatch.engine.classes import judge
from rebatch.engine.task import Batch, Loss, Memory

Split = tuple[Tensor, Tensor, Tensor]
"""Word numbers of premises and of hypotheses, padded with 0 at the end, and labels."""


class PairTask:
    """Tell entailment, neutral and contradiction apart."""

    batch_dim = 0

    def __init__(
        self,
        train: Split,
        held_out: Mapping[str, Split],
        plan: Plan,
        *,
        seed: int,
        device: torch.device,
    ) -> None:
        """Put everything on the device; the first held-out split picks the best epoch."""
        self.loader = TensorLoader(tuple(tensor.to(device) for tensor in train), plan, seed)
        self.held_out = {
            name: tuple(tensor.to(device) for tensor in split) for name, split in held_out.items()
        }
        self.selects_by = f"{next(iter(held_out))}_accuracy"

    def batches(self, epoch: int, done: int) -> Iterator[Batch]:
        """Yield the batches of an epoch after the first ``done``."""
        self.loader.set_epoch(epoch)
        self.loader.load_state_dict(self.loader.state_dict(updates_done=done))
        for premises, hypotheses, labels in self.loader:
            yield Batch((_trimmed(premises), _trimmed(hypotheses)), labels)

    def memory(self, model: nn.Module, batch_size: int) -> Memory:
        """Pairs carry nothing over."""
        return None

    def loss(self, model: nn.Module, batch: Batch, memory: Memory) -> Loss:
        """Return the mean cross-entropy."""
        logits = model(*batch.inputs).float()
        correct = (logits.argmax(1) == batch.targets).sum()
        return Loss(functional.cross_entropy(logits, batch.targets), correct)

    @torch.no_grad()
    def evaluate(
        self, models: Sequence[nn.Module], context: AbstractContextManager[object]
    ) -> dict[str, float]:
        """Return loss and accuracy, in per cent, of the mean of the models' probabilities."""
        figures: dict[str, float] = {}
        for name, split in self.held_out.items():
            parts = zip(*(tensor.split(256) for tensor in split), strict=True)
            logits = (
                ([model(_trimmed(premises), _trimmed(hypotheses)) for model in models], labels)
                for premises, hypotheses, labels in parts
            )
            with context:
                figures |= judge(name, logits)
        return figures


def _trimmed(sentences: Tensor) -> Tensor:
    """Cut off the places that are padding in every sentence: less to read, the same result."""
    longest = int((sentences != 0).any(0).sum())
    return sentences[:, : max(1, longest)]
