"""A convolution and the rectifier behind it, whose bias can be added by a kernel of our own."""

from torch import Tensor, nn


class BiasedConv2d(nn.Conv2d):
    """``nn.Conv2d``, which in training may leave its bias to the `BiasedReLU` behind it."""

    family = "rectifier"
    """Of the kernels, for `rebatch.models.fuse`."""
    fused = False
    """Whether it does."""

    @property
    def leaves_bias(self) -> bool:
        """Whether the bias is still to be added to what is given."""
        return self.fused and self.training

    def forward(self, input: Tensor) -> Tensor:
        """Convolve images (sample, channel, row, column)."""
        bias = None if self.leaves_bias else self.bias
        output: Tensor = self._conv_forward(input, self.weight, bias)
        return output


class BiasedReLU(nn.ReLU):
    """``nn.ReLU`` behind a convolution, which adds the bias where that has left it.

    >>> import torch
    >>> conv, images = BiasedConv2d(1, 2, 1), torch.ones(1, 1, 1, 1)
    >>> torch.equal(BiasedReLU(conv)(conv(images)), conv(images).relu())
    True
    """

    def __init__(self, conv: BiasedConv2d) -> None:
        super().__init__()
        self._before = (conv,)  # in a tuple, or it would be a part of this layer too

    def forward(self, input: Tensor) -> Tensor:
        """Rectify images."""
        (conv,) = self._before
        if conv.leaves_bias:
            from rebatch.kernels.rectify import bias_relu

            assert conv.bias is not None
            return bias_relu(input, conv.bias)
        return super().forward(input)
