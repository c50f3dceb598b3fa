"""Max-pooling that can be trained by a kernel of our own."""

from torch import Tensor, nn


class MaxPool3x3(nn.MaxPool2d):
    """``nn.MaxPool2d(3, stride=2, padding=1)``, which halves the sides of an image.

    >>> import torch
    >>> MaxPool3x3()(torch.arange(16.0).reshape(1, 1, 4, 4)).flatten().tolist()
    [5.0, 7.0, 13.0, 15.0]
    """

    family = "pool"
    """Of the kernels, for `rebatch.models.fuse`."""
    fused = False
    """Whether training uses a kernel of our own."""

    def __init__(self) -> None:
        super().__init__(3, stride=2, padding=1)

    def forward(self, input: Tensor) -> Tensor:
        """Pool images (sample, channel, row, column)."""
        if self.fused and self.training:
            from rebatch.kernels.pool import max_pool

            return max_pool(input)
        output: Tensor = super().forward(input)
        return output
