"""I1: ResNet-50 for ImageNet."""

from torch import Tensor, nn

from rebatch.errors import positive_int
from rebatch.models.batch_norm import GroupedBatchNorm2d
from rebatch.models.max_pool import MaxPool3x3


class ResNet50(nn.Module):
    """ResNet-50 of He et al. (2016), v1.5: the stride of a bottleneck is in its 3x3 convolution.

    Parameters and buffers are named and shaped as in torchvision, so its weights load.
    Convolutions start at N(0, 2 / fan-out).

    >>> sum(weight.numel() for weight in ResNet50().parameters())
    25557032
    """

    def __init__(self, num_classes: int = 1000, *, norm_batch_size: int | None = None) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, 64, 7, stride=2, padding=3, bias=False)
        self.bn1 = GroupedBatchNorm2d(64, norm_batch_size)
        self.maxpool = MaxPool3x3()
        self.layer1 = _layer(64, 64, 3, 1, norm_batch_size)
        self.layer2 = _layer(256, 128, 4, 2, norm_batch_size)
        self.layer3 = _layer(512, 256, 6, 2, norm_batch_size)
        self.layer4 = _layer(1024, 512, 3, 2, norm_batch_size)
        self.fc = nn.Linear(2048, positive_int("num_classes", num_classes))
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")

    def forward(self, images: Tensor) -> Tensor:
        """Give the logits of ``images`` (sample, channel, row, column)."""
        features: Tensor = self.maxpool(self.bn1(self.conv1(images), relu=True))
        for layer in (self.layer1, self.layer2, self.layer3, self.layer4):
            features = layer(features)
        logits: Tensor = self.fc(features.mean((2, 3)))
        return logits


class _Bottleneck(nn.Module):
    def __init__(self, inputs: int, width: int, stride: int, norm_batch_size: int | None) -> None:
        super().__init__()
        outputs = 4 * width
        self.conv1 = nn.Conv2d(inputs, width, 1, bias=False)
        self.bn1 = GroupedBatchNorm2d(width, norm_batch_size)
        self.conv2 = nn.Conv2d(width, width, 3, stride, padding=1, bias=False)
        self.bn2 = GroupedBatchNorm2d(width, norm_batch_size)
        self.conv3 = nn.Conv2d(width, outputs, 1, bias=False)
        self.bn3 = GroupedBatchNorm2d(outputs, norm_batch_size)
        self.downsample: nn.Module = nn.Identity()
        if inputs != outputs:
            self.downsample = nn.Sequential(
                nn.Conv2d(inputs, outputs, 1, stride, bias=False),
                GroupedBatchNorm2d(outputs, norm_batch_size),
            )

    def forward(self, images: Tensor) -> Tensor:
        hidden = self.bn1(self.conv1(images), relu=True)
        hidden = self.bn2(self.conv2(hidden), relu=True)
        shortcut = self.downsample(images)
        output: Tensor = self.bn3(self.conv3(hidden), add=shortcut, relu=True)
        return output


def _layer(
    inputs: int, width: int, blocks: int, stride: int, norm_batch_size: int | None
) -> nn.Sequential:
    return nn.Sequential(
        _Bottleneck(inputs, width, stride, norm_batch_size),
        *(_Bottleneck(4 * width, width, 1, norm_batch_size) for _ in range(blocks - 1)),
    )
