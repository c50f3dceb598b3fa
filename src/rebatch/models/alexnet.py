"""C1: the AlexNet-like network for 32x32 images."""

from torch import nn

from rebatch.errors import positive_int
from rebatch.models.batch_norm import GroupedBatchNorm2d
from rebatch.models.conv_relu import BiasedConv2d, BiasedReLU
from rebatch.models.max_pool import MaxPool3x3


def alexnet_like(num_classes: int = 10, *, norm_batch_size: int | None = None) -> nn.Sequential:
    """Build C1 of Yao et al. (2018, arXiv 1810.01021): two 5x5 convolutions, three dense layers.

    >>> sum(weight.numel() for weight in alexnet_like().parameters())
    1756682
    """
    return nn.Sequential(
        *_stage(3, norm_batch_size),
        *_stage(64, norm_batch_size),
        nn.Flatten(),
        nn.Linear(64 * 8 * 8, 384),
        nn.ReLU(),
        nn.Linear(384, 192),
        nn.ReLU(),
        nn.Linear(192, positive_int("num_classes", num_classes)),
    )


def _stage(channels: int, norm_batch_size: int | None) -> tuple[nn.Module, ...]:
    # Batch norm comes after the ReLU: the authors' order, not the usual one.
    conv = BiasedConv2d(channels, 64, 5, padding=2)
    return (
        conv,
        BiasedReLU(conv),
        GroupedBatchNorm2d(64, norm_batch_size),
        MaxPool3x3(),
    )
