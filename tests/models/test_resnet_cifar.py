from collections.abc import Callable

import pytest
import torch

from rebatch.errors import InputError
from rebatch.models import CifarResNet


@pytest.mark.parametrize(("shortcut", "parameters"), [("A", 269_722), ("B", 272_474)])
def test_parameters(shortcut: str, parameters: int) -> None:
    model = CifarResNet(shortcut=shortcut)
    assert sum(weight.numel() for weight in model.parameters()) == parameters


@pytest.mark.parametrize("shortcut", ["A", "B"])
def test_one_hundred_classes(shortcut: str) -> None:
    model = CifarResNet(100, shortcut=shortcut)
    assert model(torch.rand(2, 3, 32, 32)).shape == (2, 100)


def test_shortcut_a_takes_every_second_pixel_and_adds_empty_channels() -> None:
    block = CifarResNet(depth=8, shortcut="A").blocks[1]
    images = torch.rand(1, 16, 4, 4)
    out = block.shortcut(images)
    assert out.shape == (1, 32, 2, 2)
    assert out[0, 0].tolist() == [
        [images[0, 0, 0, 0], images[0, 0, 0, 2]],
        [images[0, 0, 2, 0], images[0, 0, 2, 2]],
    ]
    assert not out[:, 16:].any()


def test_convolutions_start_at_fan_out() -> None:
    weight = dict(CifarResNet().named_parameters())["blocks.6.conv1.weight"]
    assert weight.shape == (64, 32, 3, 3)
    assert weight.std().item() == pytest.approx(0.0589, rel=0.02)  # sqrt(2 / (9 * 64))


@pytest.mark.parametrize("shortcut", ["A", "B"])
def test_one_update_lowers_the_loss(
    shortcut: str, one_update: Callable[..., tuple[float, float]]
) -> None:
    images, labels = torch.rand(8, 3, 32, 32), torch.arange(8)
    before, after = one_update(CifarResNet(shortcut=shortcut), images, labels=labels, rate=0.05)
    assert after < before - 0.01


def test_a_depth_that_is_no_resnet_is_refused() -> None:
    with pytest.raises(InputError, match=r"depth must be 6 n \+ 2 .*, got 18"):
        CifarResNet(depth=18)


def test_an_unknown_shortcut_is_refused() -> None:
    with pytest.raises(InputError, match="shortcut must be one of A, B, got 'C'"):
        CifarResNet(shortcut="C")
