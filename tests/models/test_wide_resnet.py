from collections.abc import Callable

import pytest
import torch

from rebatch.errors import InputError
from rebatch.models import WideResNet


def test_parameters() -> None:
    assert sum(weight.numel() for weight in WideResNet().parameters()) == 2_748_890


def test_one_hundred_classes() -> None:
    assert WideResNet(100, depth=10, width=1)(torch.rand(2, 3, 32, 32)).shape == (2, 100)


def test_each_group_but_the_first_halves_the_image() -> None:
    model = WideResNet()
    terms = model.blocks((model.stem(torch.rand(1, 3, 32, 32)),))
    assert [term.shape for term in terms] == [(1, 256, 8, 8)] * 2


def test_only_the_first_block_of_a_group_has_a_shortcut_of_its_own() -> None:
    shortcuts = [name for name, _ in WideResNet().named_parameters() if "shortcut" in name]
    assert shortcuts == [f"blocks.{block}.shortcut.weight" for block in (0, 2, 4)]


def test_convolutions_start_at_fan_in() -> None:
    weight = dict(WideResNet().named_parameters())["blocks.5.conv2.weight"]
    assert weight.std().item() == pytest.approx(0.02946, rel=0.01)  # sqrt(2 / (9 * 256))


def test_dropout_acts_in_training_alone() -> None:
    model, images = WideResNet(depth=10, width=1, dropout=0.5), torch.rand(2, 3, 32, 32)
    assert not torch.equal(model(images), model(images))
    model.eval()
    assert torch.equal(model(images), model(images))


def test_one_update_lowers_the_loss(one_update: Callable[..., tuple[float, float]]) -> None:
    images, labels = torch.rand(8, 3, 32, 32), torch.arange(8)
    before, after = one_update(WideResNet(depth=10, width=1), images, labels=labels, rate=0.1)
    assert after < before - 0.01


@pytest.mark.parametrize("depth", [4, 15, 18])
def test_a_depth_that_is_no_wide_resnet_is_refused(depth: int) -> None:
    with pytest.raises(InputError, match=rf"depth must be 6 n \+ 4 .*, got {depth}"):
        WideResNet(depth=depth)
