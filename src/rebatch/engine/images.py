"""Images to classify, held on the device; judged by accuracy."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager

import torch
from torch import Tensor, nn
from torch.nn import functional

from rebatch import Plan
from rebatch.data import TensorLoader
from rebatch.data._augment import Augment
from rebatch.engine.adversarial import Adversarial
from rebatch.engine.classes import judge
from rebatch.engine.task import Batch, Loss, Memory

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
        group: int = 1,
        squared_error: bool = False,
    ) -> None:
        """Put everything on the device.

        ``group`` is the number of samples that the adversarial share is taken of, the group of
        batch norm; ``squared_error`` is the loss of the softmax against one-hot labels.
        """
        tensors = tuple(tensor.to(device) for tensor in train)
        self.loader = TensorLoader(tensors, plan, seed, augment=augment)
        self.held_out = {
            name: (images.to(device), labels.to(device))
            for name, (images, labels) in held_out.items()
        }
        self.selects_by = f"{next(iter(held_out))}_accuracy"
        self.plan, self.peak, self.group = plan, peak, group
        self.normalize = None if normalize is None else normalize.to(device)
        self.adversarial, self._attacks = adversarial, False
        self.squared_error = squared_error
        self._layout = torch.channels_last if device.type == "cuda" else torch.contiguous_format

    def batches(self, epoch: int, done: int) -> Iterator[Batch]:
        """Yield the batches of an epoch after the first ``done``."""
        self._attacks = self.adversarial is not None and self.adversarial.is_on(
            epoch, self.plan.epochs
        )
        self.loader.set_epoch(epoch)
        self.loader.load_state_dict(self.loader.state_dict(updates_done=done))
        for images, labels in self.loader:
            yield Batch((images,), labels)

    def memory(self, model: nn.Module, batch_size: int) -> Memory:
        """Images carry nothing over."""
        return None

    def loss(self, model: nn.Module, batch: Batch, memory: Memory) -> Loss:
        """Return the mean loss, of adversarial neighbours for a share of the batch."""
        images = self._scaled(batch.inputs[0])
        if self._attacks and self.adversarial is not None:
            images = self.adversarial.perturb(
                model,
                images,
                batch.targets,
                lambda chosen, labels: self._mean_loss(self._logits(model, chosen), labels),
                first=batch.first,
                group=self.group,
            )
        logits = self._logits(model, images)
        correct = (logits.argmax(1) == batch.targets).sum()
        return Loss(self._mean_loss(logits, batch.targets), correct)

    @torch.no_grad()
    def evaluate(
        self, models: Sequence[nn.Module], context: AbstractContextManager[object]
    ) -> dict[str, float]:
        """Return loss and accuracy, in per cent, of the mean of the models' probabilities."""
        figures: dict[str, float] = {}
        for name, (images, labels) in self.held_out.items():
            batches = zip(images.split(1000), labels.split(1000), strict=True)
            logits = (
                ([self._logits(model, self._scaled(part)) for model in models], answers)
                for part, answers in batches
            )
            with context:
                figures |= judge(name, logits)
        return figures

    def _scaled(self, images: Tensor) -> Tensor:
        return images.float().div_(self.peak)

    def _logits(self, model: nn.Module, images: Tensor) -> Tensor:
        ready = images if self.normalize is None else self.normalize(images)
        logits: Tensor = model(ready.contiguous(memory_format=self._layout))
        return logits.float()

    def _mean_loss(self, logits: Tensor, labels: Tensor) -> Tensor:
        if self.squared_error:
            wanted = functional.one_hot(labels, logits.shape[1]).float()
            return functional.mse_loss(logits.softmax(1), wanted)
        return functional.cross_entropy(logits, labels)
