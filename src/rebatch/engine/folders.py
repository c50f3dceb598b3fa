"""Images streamed from a folder by worker processes; judged by accuracy."""

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.data import DataLoader

from rebatch import Plan
from rebatch.data import PlannedBatchSampler
from rebatch.data.sets import ImageFolder
from rebatch.engine.classes import judge
from rebatch.engine.task import Batch, Loss, Memory


class FolderTask:
    """Classify images that are decoded on the fly; nothing but the batches is held in memory."""

    batch_dim = 0

    def __init__(
        self,
        train: ImageFolder,
        held_out: Mapping[str, ImageFolder],
        plan: Plan,
        *,
        seed: int,
        device: torch.device,
        normalize: nn.Module | None = None,
        workers: int | None = None,
    ) -> None:
        """Make a loader for training that follows the plan, and plain ones for judging.

        ``workers`` is the number of processes that decode: by default one a processor, up to 16.
        """
        pinned = device.type == "cuda"
        workers = min(16, len(os.sched_getaffinity(0))) if workers is None else workers
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
        self.train.set_epoch(epoch)
        self.sampler.set_epoch(epoch)
        self.sampler.load_state_dict(self.sampler.state_dict(updates_done=done))
        for images, labels in self.loader:
            yield Batch((self._ready(images),), labels.to(self.device, non_blocking=True))

    def sample(self) -> Tensor:
        """Return the images of a batch as the model is given them, on the CPU."""
        return next(iter(self.batches(0, 0))).inputs[0].cpu()

    def memory(self, model: nn.Module, batch_size: int) -> Memory:
        """Images carry nothing over."""
        return None

    def prepare(self, model: nn.Module, batch: Batch) -> Batch:
        """Leave the batch as it is."""
        return batch

    def loss(self, model: nn.Module, batch: Batch, memory: Memory) -> Loss:
        """Return the mean cross-entropy."""
        logits = model(*batch.inputs).float()
        correct = (logits.argmax(1) == batch.targets).sum()
        return Loss(functional.cross_entropy(logits, batch.targets), correct)

    def evaluate(
        self, models: Iterable[nn.Module], context: AbstractContextManager[object]
    ) -> dict[str, float]:
        """Return loss and accuracy, in per cent, of the mean of the models' probabilities."""
        predict = {name: partial(self._predict, data) for name, data in self.held_out.items()}
        return judge(models, predict, context)

    def _predict(
        self, loader: DataLoader[Any], model: nn.Module
    ) -> Iterator[tuple[Tensor, Tensor]]:
        for images, labels in loader:
            yield model(self._ready(images)), labels.to(self.device)

    def _ready(self, images: Tensor) -> Tensor:
        there = images.to(self.device, non_blocking=True)
        ready = there if self.normalize is None else self.normalize(there)
        return ready.contiguous(memory_format=self._layout)
