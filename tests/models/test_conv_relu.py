import copy

import torch
from torch import nn

from rebatch.models.conv_relu import BiasedConv2d, BiasedReLU


def test_the_bias_is_left_in_fused_training_alone() -> None:
    conv, images = BiasedConv2d(3, 4, 3), torch.randn(2, 3, 5, 5)
    plain = conv(images)
    conv.fused = True
    torch.testing.assert_close(conv(images) + conv.bias[:, None, None], plain)
    conv.eval()
    assert torch.equal(conv(images), plain)


def test_a_copy_looks_at_its_own_convolution() -> None:
    conv = BiasedConv2d(3, 4, 3)
    copied = copy.deepcopy(nn.Sequential(conv, BiasedReLU(conv)))
    assert copied[1]._before[0] is copied[0]
    assert list(copied.state_dict()) == ["0.weight", "0.bias"]
