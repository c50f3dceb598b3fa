"""C4: the three-layer perceptron for 32x32 images."""

import math

from torch import Tensor, nn, std_mean

from rebatch.errors import positive_int


class MLP3(nn.Sequential):
    """MLP3 of Martin and Mahoney (2018): three dense layers of 512 on standardised 28x28 crops.

    Takes images of 3x32x32 in [0, 1], not normalised: preparing them is the network's first stage.
    It has no batch norm, so ``norm_batch_size`` is taken only to be called like the others.

    >>> sum(weight.numel() for weight in MLP3().parameters())
    1735178
    """

    def __init__(self, num_classes: int = 10, *, norm_batch_size: int | None = None) -> None:
        super().__init__(
            _StandardisedCrop(),
            nn.Flatten(),
            nn.Linear(3 * 28 * 28, 512),
            nn.ReLU(),
            nn.Linear(512, 512),
            nn.ReLU(),
            nn.Linear(512, 512),
            nn.ReLU(),
            nn.Linear(512, positive_int("num_classes", num_classes)),
        )
        for module in self:
            if isinstance(module, nn.Linear):
                nn.init.xavier_normal_(module.weight)
                nn.init.constant_(module.bias, 0.1)


class _StandardisedCrop(nn.Module):
    def forward(self, images: Tensor) -> Tensor:
        crop = images[:, :, 2:30, 2:30]
        std, mean = std_mean(crop, dim=(1, 2, 3), correction=0, keepdim=True)
        # The floor keeps an image of one colour at zero instead of dividing by zero.
        return (crop - mean) / std.clamp_min(1 / math.sqrt(crop[0].numel()))
