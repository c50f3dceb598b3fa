"""The networks of the paper, one a file."""

from rebatch.models.alexnet import alexnet_like
from rebatch.models.batch_norm import GroupedBatchNorm2d, has_batch_norm, set_norm_batch_size
from rebatch.models.digits import DigitNet
from rebatch.models.esim import ESIM
from rebatch.models.fusing import fuse
from rebatch.models.lstm import LanguageModel
from rebatch.models.max_pool import MaxPool3x3
from rebatch.models.mlp3 import MLP3
from rebatch.models.resnet50 import ResNet50
from rebatch.models.resnet_cifar import CifarResNet
from rebatch.models.wide_resnet import WideResNet

__all__ = [
    "ESIM",
    "MLP3",
    "CifarResNet",
    "DigitNet",
    "GroupedBatchNorm2d",
    "LanguageModel",
    "MaxPool3x3",
    "ResNet50",
    "WideResNet",
    "alexnet_like",
    "fuse",
    "has_batch_norm",
    "set_norm_batch_size",
]
