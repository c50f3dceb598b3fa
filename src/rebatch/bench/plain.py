"""The other side: training loops in plain PyTorch, written as its tutorials write them."""

from collections.abc import Callable, Iterator
from contextlib import nullcontext

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from rebatch.bench.backends import PYTORCH
from rebatch.bench.clock import now
from rebatch.recipes import Recipe

Batches = Iterator[tuple[Tensor, ...]]
"""Batches without end, on the device: inputs, then targets."""
LOOK_EVERY = 200
"""Updates between two looks at the loss, each of which waits for the device."""


class Plain:
    """Zero the gradient, go forward and backward, step: eager and in PyTorch's own precision."""

    def __init__(
        self,
        model: nn.Module,
        batches: Batches,
        recipe: Recipe,
        device: torch.device,
        *,
        warm: int = 3,
        fast: bool = False,
    ) -> None:
        """Take a model on its device; ``fast`` is channels-last and autocast to bf16."""
        self.model, self.batches, self.device = model.train(), batches, device
        self.optimizer = _optimizer(recipe, model)
        self.clip = recipe.clip
        self.made = 0
        self._warm, self._fast = warm, fast
        if fast:
            model.to(memory_format=torch.channels_last)  # type: ignore[call-overload]

    def turn(self, updates: int) -> float:
        """Make that many updates after some to warm up."""
        PYTORCH.set()
        for _ in range(self._warm):
            self._update()
        began = now(self.device)
        for _ in range(updates):
            self._update()
        return now(self.device) - began

    def loss(self, *batch: Tensor) -> Tensor:
        """Return the loss of a batch."""
        *inputs, labels = batch
        if self._fast:
            inputs = [images.contiguous(memory_format=torch.channels_last) for images in inputs]
        context = torch.autocast(self.device.type, dtype=torch.bfloat16)
        with context if self._fast else nullcontext():
            return cross_entropy(self.model(*inputs), labels)

    def _update(self) -> None:
        batch = next(self.batches)
        self.optimizer.zero_grad()
        loss = self.loss(*batch)
        loss.backward()  # type: ignore[no-untyped-call]
        if self.clip is not None:
            nn.utils.clip_grad_norm_(self.model.parameters(), self.clip)
        self.optimizer.step()
        self.made += 1
        if self.made % LOOK_EVERY == 0:
            loss.item()


class PlainLanguage(Plain):
    """The same for a recurrent model, whose state is carried on and cut off from its history."""

    state: tuple[Tensor, ...] | None = None

    def loss(self, *batch: Tensor) -> Tensor:
        """Return the mean loss of the next tokens."""
        tokens, targets = batch
        start: Callable[[int], tuple[Tensor, ...]] = self.model.initial_state  # type: ignore[assignment]
        state = self.state or start(tokens.shape[1])
        logits, state = self.model(tokens, tuple(tensor.detach() for tensor in state))
        self.state = state
        return cross_entropy(logits.flatten(0, 1), targets)


def _optimizer(recipe: Recipe, model: nn.Module) -> torch.optim.Optimizer:
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    rate, decay = recipe.baseline_rate(0), recipe.weight_decay
    if recipe.optimizer == "adam":
        return torch.optim.Adam(trained, lr=rate, weight_decay=decay)
    return torch.optim.SGD(
        trained, lr=rate, momentum=recipe.momentum, nesterov=recipe.nesterov, weight_decay=decay
    )
