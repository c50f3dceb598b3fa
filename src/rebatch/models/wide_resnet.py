"""C2: wide residual networks for 32x32 images."""

from itertools import pairwise

from torch import Tensor, nn

from rebatch.errors import InputError, positive_int
from rebatch.models.batch_norm import GroupedBatchNorm2d
from rebatch.models.dropout import dropout as dropout_layer


class WideResNet(nn.Module):
    """WRN-``depth``-``width`` of Zagoruyko and Komodakis (2016), with pre-activation blocks.

    Three groups of ``(depth - 4) / 6`` blocks have 16, 32 and 64 times ``width`` channels.
    Convolutions start at N(0, 2 / fan-in).

    >>> sum(weight.numel() for weight in WideResNet().parameters())
    2748890
    """

    def __init__(
        self,
        num_classes: int = 10,
        *,
        depth: int = 16,
        width: int = 4,
        dropout: float = 0.0,
        norm_batch_size: int | None = None,
    ) -> None:
        super().__init__()
        if depth < 10 or depth % 6 != 4:
            raise InputError(f"depth must be 6 n + 4 with n of at least 1, got {depth}")
        width = positive_int("width", width)
        count = (depth - 4) // 6
        widths = [base * width for base in (16, 32, 64) for _ in range(count)]
        strides = [2 if place in (count, 2 * count) else 1 for place in range(3 * count)]
        self.stem = nn.Conv2d(3, 16, 3, padding=1, bias=False)
        self.blocks = nn.Sequential(
            *(
                _Block(inputs, outputs, stride, dropout, norm_batch_size)
                for (inputs, outputs), stride in zip(pairwise([16, *widths]), strides, strict=True)
            )
        )
        self.norm = GroupedBatchNorm2d(widths[-1], norm_batch_size)
        self.classify = nn.Linear(widths[-1], positive_int("num_classes", num_classes))
        self._initialise()

    def forward(self, images: Tensor) -> Tensor:
        """Give the logits of ``images`` (sample, channel, row, column)."""
        features, _ = self.norm.of_sum(*self.blocks((self.stem(images),)), relu=True)
        logits: Tensor = self.classify(features.mean((2, 3)))
        return logits

    def _initialise(self) -> None:
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, nonlinearity="relu")
        nn.init.zeros_(self.classify.bias)


class _Block(nn.Module):
    """Takes what is still to be summed and gives what is: the sum is made on the way to a norm."""

    def __init__(
        self,
        inputs: int,
        outputs: int,
        stride: int,
        dropout: float,
        norm_batch_size: int | None,
    ) -> None:
        super().__init__()
        self.norm1 = GroupedBatchNorm2d(inputs, norm_batch_size)
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, padding=1, bias=False)
        self.norm2 = GroupedBatchNorm2d(outputs, norm_batch_size)
        self.dropout = dropout_layer(dropout)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, padding=1, bias=False)
        self.shortcut = (
            None if inputs == outputs else nn.Conv2d(inputs, outputs, 1, stride, bias=False)
        )

    def forward(self, terms: tuple[Tensor, ...]) -> tuple[Tensor, Tensor]:
        active, images = self.norm1.of_sum(*terms, relu=True)
        # A shortcut that changes the width reads the activated input, an identity the raw one.
        shortcut: Tensor = images if self.shortcut is None else self.shortcut(active)
        change: Tensor = self.conv2(self.dropout(self.norm2(self.conv1(active), relu=True)))
        return shortcut, change
