"""Images streamed from a folder by worker processes; judged by accuracy."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.data import DataLoader, Dataset

from rebatch import Plan
from rebatch.data import PlannedBatchSampler
from rebatch.engine.classes import judge
from rebatch.engine.task import Batch, Loss, Memory


class FolderTask:
    """Classify images that are decoded on the fly; nothing but the batches is held in memory."""

    batch_dim = 0

    def __init__(
        self,
        train: Dataset[Any],
        held_out: Mapping[str, Dataset[Any]],
        plan: Plan,
        *,
        seed: int,
        device: torch.device,
        normalize: nn.Module | None = None,
        workers: int = 8,
    ) -> None:
        """Make a loader for training that follows the plan, and plain ones for judging."""
        pinned = device.type == "cuda"
        self.train = train
        self.sampler = PlannedBatchSampler(plan, seed, dataset=train)
        self.loader = DataLoader(
            train, batch_sampler=self.sampler, num_workers=workers, pin_memory=pinned
        )
        self.held_out = {
            name: DataLoader(data, batch_size=256, num_workers=workers, pin_memory=pinned)
            for name, data in held_out.items()
        }
        self.selects_by = f"{next(iter(held_out))}_accuracy"
        self.device = device
        self.normalize = None if normalize is None else normalize.to(device)
        self._layout = torch.channels_last if pinned else torch.contiguous_format

    def batches(self, epoch: int, done: int) -> Iterator[Batch]:
        """Yield the batches of an epoch after the first ``done``."""
        set_epoch = getattr(self.train, "set_epoch", None)
        if set_epoch is not None:
            set_epoch(epoch)
        self.sampler.set_epoch(epoch)
        self.sampler.load_state_dict(self.sampler.state_dict(updates_done=done))
        for images, labels in self.loader:
            yield Batch((self._ready(images),), labels.to(self.device, non_blocking=True))

    def memory(self, model: nn.Module, batch_size: int) -> Memory:
        """Images carry nothing over."""
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
        for name, loader in self.held_out.items():
            logits = (
                ([model(self._ready(images)) for model in models], labels.to(self.device))
                for images, labels in loader
            )
            with context:
                figures |= judge(name, logits)
        return figures

    def _ready(self, images: Tensor) -> Tensor:
        there = images.to(self.device, non_blocking=True)
        ready = there if self.normalize is None else self.normalize(there)
        return ready.contiguous(memory_format=self._layout)
