"""Images to classify, held on the device; judged by accuracy."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from functools import partial

import torch
from torch import Tensor, nn
from torch.nn import functional

from rebatch import Plan
from rebatch.data import TensorLoader
from rebatch.data._augment import Augment
from rebatch.engine.adversarial import Adversarial
from rebatch.engine.classes import judge
from rebatch.engine.precision import wide
from rebatch.engine.ranks import ALONE, Ranks
from rebatch.engine.task import Batch, Loss, Memory, picked

Split = tuple[Tensor, Tensor]


class ImageTask:
    """Classify images given as uint8; they become floats in [0, 1] and are normalised last."""

    batch_dim = 0

    def __init__(
        self,
        train: Split,
        held_out: Mapping[str, Split],
        plan: Plan,
        *,
        seed: int,
        device: torch.device,
        peak: int = 255,
        normalize: nn.Module | None = None,
        augment: Augment | None = None,
        adversarial: Adversarial | None = None,
        squared_error: bool = False,
        dtype: torch.dtype = torch.float32,
        ranks: Ranks = ALONE,
        epochs: float | None = None,
    ) -> None:
        """Put everything on the device.

        ``squared_error`` is the loss of the softmax against one-hot labels; ``epochs`` the length
        of training, where the plan is still to grow.
        """
        self.dtype, self.ranks = dtype, ranks
        tensors = tuple(tensor.to(device) for tensor in train)
        self.loader = TensorLoader(tensors, plan, seed, augment=augment)
        self.held_out = {
            name: (images.to(device), labels.to(device))
            for name, (images, labels) in held_out.items()
        }
        self.selects_by = f"{next(iter(held_out))}_accuracy"
        self.epochs, self.peak = epochs or plan.epochs, peak
        self.normalize = None if normalize is None else normalize.to(device)
        self.adversarial, self.squared_error = adversarial, squared_error

    def batches(self, epoch: int, done: int) -> Iterator[Batch]:
        """Yield the batches of an epoch after the first ``done``."""
        attack = self.adversarial
        attacked = attack is not None and attack.is_on(epoch, self.epochs)
        self.loader.set_epoch(epoch)
        self.loader.load_state_dict(self.loader.state_dict(updates_done=done))
        for images, labels in self.loader:
            yield Batch((images,), labels, attacked=attacked)

    def follow(self, plan: Plan) -> None:
        """Give the batches of a plan that has grown."""
        self.loader.follow(plan)

    def plain_batch(self, size: int, seed: int) -> Batch:
        """Return training images as they are, picked by the seed."""
        numbers = picked(self.loader.plan.examples, size, seed)
        images, labels = self.loader.samples(numbers)
        return Batch((images,), labels)

    def sample(self) -> Tensor:
        """Return the images of a batch as the model is given them, on the CPU."""
        images = next(iter(self.batches(0, 0))).inputs[0]
        return self._ready(self._scaled(images)).cpu()

    def memory(self, model: nn.Module, batch_size: int) -> Memory:
        """Images carry nothing over."""
        return None

    def prepare(self, model: nn.Module, batch: Batch) -> Batch:
        """Replace a share of an attacked batch by adversarial neighbours."""
        if not batch.attacked or self.adversarial is None:
            return batch
        images = self.adversarial.perturb(
            model,
            self._scaled(batch.inputs[0]),
            batch.targets,
            lambda chosen, labels: self._mean_loss(self._logits(model, chosen), labels),
            first=batch.first,
        )
        return batch._replace(inputs=(images,))

    def loss(self, model: nn.Module, batch: Batch, memory: Memory) -> Loss:
        """Return the mean loss."""
        logits = self._logits(model, self._scaled(batch.inputs[0]))
        correct = (logits.argmax(1) == batch.targets).sum()
        return Loss(self._mean_loss(logits, batch.targets), correct)

    def evaluate(
        self, models: Iterable[nn.Module], context: AbstractContextManager[object]
    ) -> dict[str, float]:
        """Return loss and accuracy, in per cent, of the mean of the models' probabilities."""
        predict = {name: partial(self._predict, split) for name, split in self.held_out.items()}
        totals = {name: len(labels) for name, (_, labels) in self.held_out.items()}
        return judge(models, predict, context, ranks=self.ranks, totals=totals)

    def _predict(self, split: Split, model: nn.Module) -> Iterator[tuple[Tensor, Tensor]]:
        own = self.ranks.own(len(split[1]))
        for images, labels in zip(*(torch.split(part[own], 1000) for part in split), strict=True):
            yield self._logits(model, self._scaled(images)), labels

    def _scaled(self, images: Tensor) -> Tensor:
        return images if images.is_floating_point() else images.to(self.dtype).div_(self.peak)

    def _logits(self, model: nn.Module, images: Tensor) -> Tensor:
        logits: Tensor = model(self._ready(images))
        return wide(logits)

    def _ready(self, images: Tensor) -> Tensor:
        return images if self.normalize is None else self.normalize(images)

    def _mean_loss(self, logits: Tensor, labels: Tensor) -> Tensor:
        if self.squared_error:
            wanted = functional.one_hot(labels, logits.shape[1]).to(logits.dtype)
            return functional.mse_loss(logits.softmax(1), wanted)
        return functional.cross_entropy(logits, labels)
