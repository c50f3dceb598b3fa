"""FGSM adversarial regularisation (Yao et al., 2018).

A share of every update is replaced by its fast-gradient-sign neighbours, for the first part of
training.  Which samples are replaced depends on their place in the update alone, so micro-batches
do not change it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import torch
from torch import Tensor, nn

from rebatch.errors import InputError, hold_plain, positive_number


@dataclass(frozen=True, kw_only=True)
class Adversarial:
    """How much of an update is made adversarial, how strongly and for how long."""

    share: float = 0.2
    epsilon: float = 0.005
    """Size of the step, in the scale of images between 0 and 1."""
    window: float = 0.5
    """The share of the epochs, from the first on, that it is switched on for."""

    def __post_init__(self) -> None:
        hold_plain(self)
        positive_number("epsilon", self.epsilon)
        for name in ("share", "window"):
            if not 0 <= getattr(self, name) <= 1:
                raise InputError(f"{name} must be between 0 and 1, got {getattr(self, name)}")

    def is_on(self, epoch: int, epochs: float) -> bool:
        """Tell whether an epoch lies in the window: before ``floor(epochs * window)``."""
        return self.share > 0 and epoch < int(epochs * self.window)

    def chosen(self, first: int, count: int) -> list[int]:
        """Return the places that are replaced in a micro-batch.

        They are spread evenly over the update, so that ``floor(n * share)`` of any first n
        samples are replaced, whatever the micro-batches are; ``first`` is where this one begins.

        >>> Adversarial(share=0.4).chosen(first=0, count=10)
        [2, 4, 7, 9]
        >>> Adversarial(share=0.4).chosen(first=5, count=5)
        [2, 4]
        """
        counts = [int((first + place) * self.share) for place in range(count + 1)]
        return [place for place in range(count) if counts[place + 1] > counts[place]]

    def perturb(
        self,
        model: nn.Module,
        images: Tensor,
        targets: Tensor,
        loss: Callable[[Tensor, Tensor], Tensor],
        *,
        first: int,
    ) -> Tensor:
        """Return the images with the chosen ones moved up their gradient and cut to [0, 1].

        The gradient is taken in evaluation mode, so batch-norm statistics and dropout stay out
        of it and parameters collect nothing.
        """
        chosen = _places(self, first, len(images), images.device)
        if not len(chosen):
            return images
        clean = images.index_select(0, chosen).detach().requires_grad_()
        was_training = model.training
        model.eval()
        try:
            value = loss(clean, targets.index_select(0, chosen))
            (gradient,) = torch.autograd.grad(value, clean)
        finally:
            model.train(was_training)
        moved = (clean.detach() + self.epsilon * gradient.sign()).clamp_(0, 1)
        return images.index_copy(0, chosen, moved)


@cache
def _places(attack: Adversarial, first: int, count: int, device: torch.device) -> Tensor:
    # Remembered, because bringing them to the device again for every update would stall it; and
    # for good, because CUDA graphs read them where they are.
    return torch.tensor(attack.chosen(first, count), dtype=torch.int64, device=device)
