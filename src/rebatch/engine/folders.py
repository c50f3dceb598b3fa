"""Images streamed from a folder by worker processes; judged by accuracy."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset, Sampler, Subset, default_collate

from rebatch import Plan
from rebatch._cores import cores
from rebatch.data import PlannedBatchSampler
from rebatch.data._cut import walk
from rebatch.data.sets import ImageFolder
from rebatch.engine.classes import Classifier, judge
from rebatch.engine.ranks import ALONE, Ranks
from rebatch.engine.task import Batch, picked
from rebatch.engine.workers import outlive_stop


class FolderTask(Classifier):
    """Classify images that are decoded on the fly; nothing but the batches is held in memory."""

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
        patience: float = 600.0,
        dtype: torch.dtype = torch.float32,
        ranks: Ranks = ALONE,
        group: int = 1,
    ) -> None:
        """Make a loader for training that follows the plan, and plain ones for judging.

        ``workers`` is the number of processes that decode: by default one a processor, up to 16.
        One that gives nothing for ``patience`` seconds, because its disk hangs, say, is a fault.
        """
        pinned = device.type == "cuda"
        workers = min(16, cores()) if workers is None else workers
        self.train, self.dtype, self.ranks, self.group = train, dtype, ranks, group
        self.sampler = PlannedBatchSampler(plan, seed, dataset=train)
        parts = self.sampler if ranks.size == 1 else _OwnParts(self.sampler, ranks, group)
        # A loader draws from its generator at each start: not from the one that training draws
        # from, or a run that starts in the midst of an epoch would draw other numbers after it.
        made_with: dict[str, Any] = {"num_workers": workers, "pin_memory": pinned}
        made_with["generator"] = torch.Generator()
        made_with["worker_init_fn"] = outlive_stop
        made_with["timeout"] = patience if workers else 0
        self.loader = DataLoader(train, batch_sampler=parts, **made_with)
        self.held_out = {
            name: DataLoader(_own(data, ranks), batch_size=256, **made_with)
            for name, data in held_out.items()
        }
        self.totals = {name: len(data) for name, data in held_out.items()}
        self.selects_by = f"{next(iter(held_out))}_accuracy"
        self.device = device
        self.normalize = None if normalize is None else normalize.to(device)

    def batches(self, epoch: int, done: int) -> Iterator[Batch]:
        """Yield the batches of an epoch after the first ``done``."""
        self._go_to(epoch, done)
        updates = walk(self.sampler.plan, epoch, done)
        for (images, labels), update in zip(self.loader, updates, strict=True):
            whole = Batch((self._ready(images),), labels.to(self.device, non_blocking=True))
            yield self._part(whole, update.stop - update.start)

    def _go_to(self, epoch: int, done: int) -> None:
        self.train.set_epoch(epoch)
        self.sampler.set_epoch(epoch)
        self.sampler.load_state_dict(self.sampler.state_dict(updates_done=done))

    def _part(self, batch: Batch, total: int) -> Batch:
        """Say which part of its update a batch is; without a sample of its own it is empty."""
        if self.ranks.size == 1:
            return batch
        start, stop = self.ranks.span(total, self.group)
        images, labels = batch.inputs[0][: stop - start], batch.targets[: stop - start]
        return Batch((images,), labels, first=start, total=total)

    def follow(self, plan: Plan) -> None:
        """Give the batches of a plan that has grown."""
        self.sampler.follow(plan)

    def plain_batch(self, size: int, seed: int) -> Batch:
        """Return training images cut in their centre, picked by the seed."""
        numbers = picked(len(self.train), size, seed).tolist()
        images, labels = default_collate([self.train.plain(number) for number in numbers])
        return Batch((self._ready(images),), labels.to(self.device))

    def sample(self) -> Tensor:
        """Return the images of a batch as the model is given them, on the CPU."""
        self._go_to(0, 0)
        whole = default_collate([self.train[number] for number in next(iter(self.sampler))])
        return self._ready(whole[0]).cpu()

    def evaluate(
        self, models: Iterable[nn.Module], context: AbstractContextManager[object]
    ) -> dict[str, float]:
        """Return loss and accuracy, in per cent, of the mean of the models' probabilities."""
        predict = {name: partial(self._predict, data) for name, data in self.held_out.items()}
        return judge(models, predict, context, ranks=self.ranks, totals=self.totals)

    def _predict(
        self, loader: DataLoader[Any], model: nn.Module
    ) -> Iterator[tuple[Tensor, Tensor]]:
        for images, labels in loader:
            yield model(self._ready(images)), labels.to(self.device)

    def _ready(self, images: Tensor) -> Tensor:
        there = images.to(self.device, non_blocking=True)
        return there if self.normalize is None else self.normalize(there).to(self.dtype)


class _OwnParts(Sampler[list[Any]]):
    """The indices of one rank's part of every update; one with no part reads a single sample."""

    def __init__(self, updates: PlannedBatchSampler, ranks: Ranks, group: int) -> None:
        self._updates, self._ranks, self._group = updates, ranks, group

    def __len__(self) -> int:
        return len(self._updates)

    def __iter__(self) -> Iterator[list[Any]]:
        for indices in self._updates:
            start, stop = self._ranks.span(len(indices), self._group)
            yield indices[start:stop] or indices[:1]


def _own(data: ImageFolder, ranks: Ranks) -> Dataset[Any]:
    """Return one rank's part of a held-out set."""
    return data if ranks.size == 1 else Subset(data, range(len(data))[ranks.own(len(data))])
