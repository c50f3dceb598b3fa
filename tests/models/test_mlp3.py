from collections.abc import Callable

import pytest
import torch
from torch import nn

from rebatch.errors import InputError
from rebatch.models import MLP3


def test_parameters() -> None:
    assert sum(weight.numel() for weight in MLP3().parameters()) == 1_735_178


def test_one_hundred_classes() -> None:
    assert MLP3(100)(torch.rand(2, 3, 32, 32)).shape == (2, 100)


def test_the_border_of_two_pixels_is_not_seen() -> None:
    images, model = torch.rand(2, 3, 32, 32), MLP3()
    framed = torch.zeros_like(images)
    framed[:, :, 2:30, 2:30] = images[:, :, 2:30, 2:30]
    assert torch.equal(model(images), model(framed))


def test_each_image_is_standardised_over_all_its_values() -> None:
    crops = MLP3()[0](torch.rand(2, 3, 32, 32) * 0.5 + 0.2)
    assert crops.shape == (2, 3, 28, 28)
    assert crops.mean((1, 2, 3)).tolist() == pytest.approx([0, 0], abs=1e-5)
    assert crops.var((1, 2, 3), correction=0).tolist() == pytest.approx([1, 1], abs=1e-5)


def test_an_image_of_one_colour_becomes_zero() -> None:
    assert not MLP3()[0](torch.full((1, 3, 32, 32), 0.5)).any()


def test_weights_start_glorot_normal_and_biases_at_a_tenth() -> None:
    first = MLP3()[2]
    assert isinstance(first, nn.Linear)
    assert first.weight.std().item() == pytest.approx(0.02643, rel=0.01)  # sqrt(2 / (2352 + 512))
    assert first.bias.tolist() == pytest.approx([0.1] * 512)


def test_one_update_lowers_the_loss(one_update: Callable[..., tuple[float, float]]) -> None:
    images, labels = torch.rand(8, 3, 32, 32), torch.arange(8)
    before, after = one_update(MLP3(), images, labels=labels, rate=0.1)
    assert after < before - 0.01


def test_no_classes_are_refused() -> None:
    with pytest.raises(
        InputError, match="num_classes must be a whole number of at least 1, got -3"
    ):
        MLP3(-3)
