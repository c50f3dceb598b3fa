"""Text to continue: a token stream, a recurrent model, perplexity."""

import math
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from typing import Protocol

import torch
from torch import Tensor, nn
from torch.nn import functional

from rebatch import Plan
from rebatch.data import TokenColumns
from rebatch.engine.precision import wide
from rebatch.engine.ranks import ALONE, Ranks
from rebatch.engine.task import Batch, Loss, Memory, picked
from rebatch.errors import InputError

State = tuple[Tensor, Tensor]


class Recurrent(Protocol):
    """What a language model must offer beside being called."""

    def initial_state(self, batch_size: int) -> State:
        """Return the state before the first token."""
        ...


class LanguageTask:
    """Predict every next token; judged by perplexity in columns with carried state."""

    batch_dim = 1
    selects_by = "valid_perplexity"

    def __init__(
        self,
        train: Tensor,
        held_out: Mapping[str, Tensor],
        plan: Plan,
        *,
        device: torch.device,
        columns: int = 10,
        bptt: int = 35,
        ranks: Ranks = ALONE,
    ) -> None:
        """Put the streams on the device; ``held_out`` is read in ``columns`` columns."""
        self.ranks = ranks
        self.tokens = train.to(device)
        self.feed = TokenColumns(self.tokens, plan)
        self.held_out = {
            name: _in_columns(name, tokens.to(device), columns) for name, tokens in held_out.items()
        }
        self.bptt = bptt
        # With the state carried along any stretch gives the same; a GPU likes long ones.
        self.stretch = 10 * bptt if device.type == "cuda" else bptt

    def batches(self, epoch: int, done: int) -> Iterator[Batch]:
        """Yield the segments of an epoch after the first ``done``."""
        self.feed.set_epoch(epoch)
        self.feed.load_state_dict(self.feed.state_dict(updates_done=done))
        for segment in self.feed:
            yield Batch((segment.inputs,), segment.targets, segment.reset)

    def follow(self, plan: Plan) -> None:
        """Give the batches of a plan that has grown."""
        self.feed.follow(plan)

    def plain_batch(self, size: int, seed: int) -> Batch:
        """Return a segment of columns that begin at places picked by the seed."""
        length = min(self.bptt, len(self.tokens) - 1)
        starts = picked(len(self.tokens) - length, size, seed)
        places = (starts + torch.arange(length)[:, None]).to(self.tokens.device)
        return Batch((self.tokens[places],), self.tokens[places + 1], reset=True)

    def memory(self, model: nn.Module, batch_size: int) -> Memory:
        """Return the zero state of that many columns."""
        recurrent: Recurrent = model  # type: ignore[assignment]
        return recurrent.initial_state(batch_size)

    def prepare(self, model: nn.Module, batch: Batch) -> Batch:
        """Leave the batch as it is."""
        return batch

    def loss(self, model: nn.Module, batch: Batch, memory: Memory) -> Loss:
        """Return the mean cross-entropy of the next tokens, and the state behind them."""
        logits, state = model(*batch.inputs, memory)
        rows, targets = logits.flatten(0, 1), batch.targets.flatten()
        if model.training and getattr(model, "fused", False):
            from rebatch.kernels.cross_entropy import mean_cross_entropy

            return Loss(mean_cross_entropy(rows, targets), None, state)
        return Loss(functional.cross_entropy(wide(rows), targets), None, state)

    @torch.no_grad()
    def evaluate(
        self, models: Iterable[nn.Module], context: AbstractContextManager[object]
    ) -> dict[str, float]:
        """Return loss and perplexity of each held-out stream under the mean distribution.

        With p the mean of the members' probabilities, the loss is the mean of -log p(next token):
        so only the probability of what really came next is needed from each member.
        """
        scores: dict[str, list[Tensor]] = {name: [] for name in self.held_out}
        for model in models:
            for name, columns in self.held_out.items():
                with context:
                    scores[name].append(self._own_chances(model, columns))
        figures = {}
        for name, members in scores.items():
            mean = torch.stack(members).logsumexp(0) - math.log(len(members))
            loss = -float(mean.mean(dtype=torch.float64))
            figures[f"{name}_loss"] = loss
            figures[f"{name}_perplexity"] = math.exp(min(loss, 700.0))
        return figures

    def _own_chances(self, model: nn.Module, columns: Tensor) -> Tensor:
        """Return the log-probabilities of all columns, of which each rank reads its own."""
        total = columns.shape[1]
        return self.ranks.joined(
            self._log_chances(model, columns[:, self.ranks.own(total)]), 1, total
        )

    def _log_chances(self, model: nn.Module, columns: Tensor) -> Tensor:
        """Return the log-probability of every token after the first row, state carried along."""
        state = self.memory(model, columns.shape[1])
        parts = []
        for top in range(0, len(columns) - 1, self.stretch):
            end = min(top + self.stretch, len(columns) - 1)
            logits, state = model(columns[top:end], state)
            targets = columns[top + 1 : end + 1].unsqueeze(-1)
            parts.append(wide(logits).log_softmax(-1).gather(-1, targets))
        return torch.cat(parts)


def _in_columns(name: str, tokens: Tensor, columns: int) -> Tensor:
    rows = len(tokens) // columns
    if rows < 2:
        rule = f"have at least {2 * columns} tokens to be read in {columns} columns"
        raise InputError(f"{name} must {rule}, got {len(tokens)}")
    return tokens[: rows * columns].view(columns, rows).t().contiguous()
