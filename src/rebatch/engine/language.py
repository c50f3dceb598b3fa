"""Text to continue: a token stream, a recurrent model, perplexity."""

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

import torch
from torch import Tensor, nn
from torch.nn import functional

from rebatch import Plan
from rebatch.data import TokenColumns
from rebatch.engine.task import Batch, Loss, Memory

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
    ) -> None:
        """Put the streams on the device; ``held_out`` is read in ``columns`` columns."""
        self.feed = TokenColumns(train, plan, device=device)
        self.held_out = {
            name: _in_columns(tokens.to(device), columns) for name, tokens in held_out.items()
        }
        self.bptt = bptt

    def batches(self, epoch: int, done: int) -> Iterator[Batch]:
        """Yield the segments of an epoch after the first ``done``."""
        self.feed.set_epoch(epoch)
        self.feed.load_state_dict(self.feed.state_dict(updates_done=done))
        for segment in self.feed:
            yield Batch((segment.inputs,), segment.targets, segment.reset)

    def memory(self, model: nn.Module, batch_size: int) -> Memory:
        """Return the zero state of that many columns."""
        recurrent: Recurrent = model  # type: ignore[assignment]
        return recurrent.initial_state(batch_size)

    def loss(self, model: nn.Module, batch: Batch, memory: Memory) -> Loss:
        """Return the mean cross-entropy of the next tokens, and the state behind them."""
        logits, state = model(*batch.inputs, memory)
        mean = functional.cross_entropy(logits.flatten(0, 1).float(), batch.targets.flatten())
        return Loss(mean, None, state)

    @torch.no_grad()
    def evaluate(
        self, models: Sequence[nn.Module], context: AbstractContextManager[object]
    ) -> dict[str, float]:
        """Return loss and perplexity of each held-out stream under the mean distribution."""
        figures = {}
        for name, columns in self.held_out.items():
            with context:
                loss = self._stream_loss(models, columns)
            figures[f"{name}_loss"] = loss
            figures[f"{name}_perplexity"] = math.exp(min(loss, 700.0))
        return figures

    def _stream_loss(self, models: Sequence[nn.Module], columns: Tensor) -> float:
        """Return the mean loss of a stream; every model carries its own state."""
        states = [self.memory(model, columns.shape[1]) for model in models]
        total = torch.zeros((), dtype=torch.float64, device=columns.device)
        for top in range(0, len(columns) - 1, self.bptt):
            end = min(top + self.bptt, len(columns) - 1)
            scores = []
            for index, model in enumerate(models):
                logits, states[index] = model(columns[top:end], states[index])
                scores.append(logits.float().log_softmax(-1))
            mean = torch.stack(scores).logsumexp(0) - math.log(len(models))
            targets = columns[top + 1 : end + 1].unsqueeze(-1)
            total -= mean.gather(-1, targets).sum(dtype=torch.float64)
        return float(total) / ((len(columns) - 1) * columns.shape[1])


def _in_columns(tokens: Tensor, columns: int) -> Tensor:
    rows = len(tokens) // columns
    return tokens[: rows * columns].view(columns, rows).t().contiguous()
