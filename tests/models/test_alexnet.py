from collections.abc import Callable

import pytest
import torch
from torch import nn

from rebatch.errors import InputError
from rebatch.models import GroupedBatchNorm2d, MaxPool3x3, alexnet_like


def test_parameters() -> None:
    assert sum(weight.numel() for weight in alexnet_like().parameters()) == 1_756_682


def test_one_hundred_classes() -> None:
    assert alexnet_like(100)(torch.rand(2, 3, 32, 32)).shape == (2, 100)


def test_batch_norm_follows_the_relu() -> None:
    kinds = (nn.Conv2d, nn.ReLU, GroupedBatchNorm2d, MaxPool3x3)
    assert all(map(isinstance, alexnet_like(), kinds))


def test_one_update_lowers_the_loss(one_update: Callable[..., tuple[float, float]]) -> None:
    images, labels = torch.rand(8, 3, 32, 32), torch.arange(8)
    before, after = one_update(alexnet_like(), images, labels=labels, rate=0.02)
    assert after < before - 0.01


def test_no_classes_are_refused() -> None:
    with pytest.raises(InputError, match="num_classes must be a whole number of at least 1, got 0"):
        alexnet_like(0)
