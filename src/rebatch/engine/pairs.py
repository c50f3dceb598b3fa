"""Pairs of sentences to compare; judged by accuracy."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from functools import partial

import torch
from torch import Tensor, nn

from rebatch import Plan
from rebatch.data import TensorLoader
from rebatch.engine.classes import Classifier, judge
from rebatch.engine.ranks import ALONE, Ranks
from rebatch.engine.task import Batch, picked

Split = tuple[Tensor, Tensor, Tensor]
"""Word numbers of premises and of hypotheses, padded with 0 at the end, and labels."""


class PairTask(Classifier):
    """Tell entailment, neutral and contradiction apart."""

    def __init__(
        self,
        train: Split,
        held_out: Mapping[str, Split],
        plan: Plan,
        *,
        seed: int,
        device: torch.device,
        ranks: Ranks = ALONE,
    ) -> None:
        """Put everything on the device; the first held-out split picks the best epoch."""
        self.loader = TensorLoader(tuple(tensor.to(device) for tensor in train), plan, seed)
        # Batches are cut at their longest sentence, and asking the device for it would stall it.
        self.lengths = TensorLoader([_lengths(words.cpu()) for words in train[:2]], plan, seed)
        self.held_out = {
            name: (premises.to(device), hypotheses.to(device), labels.to(device))
            for name, (premises, hypotheses, labels) in held_out.items()
        }
        self.ranks = ranks
        self.grain = 8 if device.type == "cuda" else 1
        self.selects_by = f"{next(iter(held_out))}_accuracy"

    def batches(self, epoch: int, done: int) -> Iterator[Batch]:
        """Yield the batches of an epoch after the first ``done``."""
        for loader in (self.loader, self.lengths):
            loader.set_epoch(epoch)
            loader.load_state_dict(loader.state_dict(updates_done=done))
        for batch, lengths in zip(self.loader, self.lengths, strict=True):
            premises, hypotheses = (
                sentences[:, : self._cut(int(words.max()))]
                for sentences, words in zip(batch, lengths, strict=False)
            )
            yield Batch((premises, hypotheses), batch[-1])

    def follow(self, plan: Plan) -> None:
        """Give the batches of a plan that has grown."""
        for loader in (self.loader, self.lengths):
            loader.follow(plan)

    def plain_batch(self, size: int, seed: int) -> Batch:
        """Return pairs picked by the seed, cut at their longest sentence."""
        numbers = picked(self.loader.plan.examples, size, seed)
        *sentences, labels = self.loader.samples(numbers)
        longest = (int(words.max()) for words in self.lengths.samples(numbers))
        return Batch(tuple(s[:, :end] for s, end in zip(sentences, longest, strict=True)), labels)

    def _cut(self, longest: int) -> int:
        """Return how many words are read; padding changes nothing, and fewer shapes come back."""
        return -(-longest // self.grain) * self.grain

    def evaluate(
        self, models: Iterable[nn.Module], context: AbstractContextManager[object]
    ) -> dict[str, float]:
        """Return loss and accuracy, in per cent, of the mean of the models' probabilities."""
        predict = {name: partial(self._predict, split) for name, split in self.held_out.items()}
        totals = {name: len(split[-1]) for name, split in self.held_out.items()}
        return judge(models, predict, context, ranks=self.ranks, totals=totals)

    def _predict(self, split: Split, model: nn.Module) -> Iterator[tuple[Tensor, Tensor]]:
        own = self.ranks.own(len(split[-1]))
        parts = zip(*(torch.split(tensor[own], 256) for tensor in split), strict=True)
        for premises, hypotheses, labels in parts:
            longest = [int(_lengths(sentences).max()) for sentences in (premises, hypotheses)]
            yield model(premises[:, : longest[0]], hypotheses[:, : longest[1]]), labels


def _lengths(sentences: Tensor) -> Tensor:
    """Return the number of words of each sentence."""
    return (sentences != 0).sum(1)
