"""C3: the small residual networks for 32x32 images."""

from itertools import pairwise

from torch import Tensor, nn
from torch.nn.functional import pad

from rebatch.errors import InputError, one_of, positive_int
from rebatch.models.batch_norm import GroupedBatchNorm2d


class CifarResNet(nn.Module):
    """ResNet-``depth`` of He et al. (2016) for CIFAR: three groups of ``(depth - 2) / 6`` blocks.

    Where the shape changes, ``shortcut`` "B" is a 1x1 convolution with batch norm, and "A" takes
    every second pixel and fills the new channels with zeros. Convolutions start at
    N(0, 2 / fan-out).

    >>> sum(weight.numel() for weight in CifarResNet(shortcut="B").parameters())
    272474
    """

    def __init__(
        self,
        num_classes: int = 10,
        *,
        depth: int = 20,
        shortcut: str = "B",
        norm_batch_size: int | None = None,
    ) -> None:
        super().__init__()
        if depth < 8 or depth % 6 != 2:
            raise InputError(f"depth must be 6 n + 2 with n of at least 1, got {depth}")
        one_of("shortcut", shortcut, ("A", "B"))
        self.stem, self.norm = _conv(3, 16, 3, 1, norm_batch_size)
        widths = [width for width in (16, 32, 64) for _ in range((depth - 2) // 6)]
        self.blocks = nn.Sequential(
            *(
                _Block(inputs, outputs, shortcut, norm_batch_size)
                for inputs, outputs in pairwise([16, *widths])
            )
        )
        self.classify = nn.Linear(64, positive_int("num_classes", num_classes))
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")

    def forward(self, images: Tensor) -> Tensor:
        """Give the logits of ``images`` (sample, channel, row, column)."""
        features: Tensor = self.blocks(self.norm(self.stem(images), relu=True))
        logits: Tensor = self.classify(features.mean((2, 3)))
        return logits


class _Block(nn.Module):
    def __init__(
        self, inputs: int, outputs: int, shortcut: str, norm_batch_size: int | None
    ) -> None:
        super().__init__()
        stride = outputs // inputs
        self.conv1, self.norm1 = _conv(inputs, outputs, 3, stride, norm_batch_size)
        self.conv2, self.norm2 = _conv(outputs, outputs, 3, 1, norm_batch_size)
        self.shortcut: nn.Module = nn.Identity()
        if stride == 2:
            self.shortcut = (
                _Subsample(outputs - inputs)
                if shortcut == "A"
                else nn.Sequential(*_conv(inputs, outputs, 1, stride, norm_batch_size))
            )

    def forward(self, images: Tensor) -> Tensor:
        hidden = self.norm1(self.conv1(images), relu=True)
        output: Tensor = self.norm2(self.conv2(hidden), add=self.shortcut(images), relu=True)
        return output


class _Subsample(nn.Module):
    def __init__(self, new_channels: int) -> None:
        super().__init__()
        self.new_channels = new_channels

    def forward(self, images: Tensor) -> Tensor:
        return pad(images[:, :, ::2, ::2], (0, 0, 0, 0, 0, self.new_channels))


def _conv(
    inputs: int, outputs: int, kernel: int, stride: int, norm_batch_size: int | None
) -> tuple[nn.Module, nn.Module]:
    convolution = nn.Conv2d(inputs, outputs, kernel, stride, padding=kernel // 2, bias=False)
    return convolution, GroupedBatchNorm2d(outputs, norm_batch_size)
