from collections.abc import Callable

import pytest
import torch

from rebatch.errors import InputError
from rebatch.models import ResNet50


@pytest.fixture(scope="module")
def model() -> ResNet50:
    return ResNet50()


def test_parameters(model: ResNet50) -> None:
    assert sum(weight.numel() for weight in model.parameters()) == 25_557_032


def test_the_names_are_torchvisions(model: ResNet50) -> None:
    names = list(model.state_dict())
    assert len(names) == 320
    assert len(list(model.parameters())) == 161
    assert names[:7] == [
        "conv1.weight",
        "bn1.weight",
        "bn1.bias",
        "bn1.running_mean",
        "bn1.running_var",
        "bn1.num_batches_tracked",
        "layer1.0.conv1.weight",
    ]
    assert [name for name in names if "downsample" in name and name.endswith(".weight")] == [
        "layer1.0.downsample.0.weight",
        "layer1.0.downsample.1.weight",
        "layer2.0.downsample.0.weight",
        "layer2.0.downsample.1.weight",
        "layer3.0.downsample.0.weight",
        "layer3.0.downsample.1.weight",
        "layer4.0.downsample.0.weight",
        "layer4.0.downsample.1.weight",
    ]
    assert names[-4:] == [
        "layer4.2.bn3.running_var",
        "layer4.2.bn3.num_batches_tracked",
        "fc.weight",
        "fc.bias",
    ]


@pytest.mark.parametrize(("layer", "blocks"), [(1, 3), (2, 4), (3, 6), (4, 3)])
def test_each_block_has_three_convolutions_with_batch_norm(
    model: ResNet50, layer: int, blocks: int
) -> None:
    names = {name for name in model.state_dict() if name.startswith(f"layer{layer}.")}
    weights = {name for name in names if name.endswith(".weight") and "downsample" not in name}
    assert weights == {
        f"layer{layer}.{block}.{kind}{place}.weight"
        for block in range(blocks)
        for kind in ("conv", "bn")
        for place in (1, 2, 3)
    }


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("conv1.weight", (64, 3, 7, 7)),
        ("layer1.0.conv1.weight", (64, 64, 1, 1)),
        ("layer1.0.downsample.0.weight", (256, 64, 1, 1)),
        ("layer2.0.conv2.weight", (128, 128, 3, 3)),
        ("layer3.0.downsample.0.weight", (1024, 512, 1, 1)),
        ("layer3.5.conv3.weight", (1024, 256, 1, 1)),
        ("layer4.2.bn3.running_mean", (2048,)),
        ("fc.weight", (1000, 2048)),
    ],
)
def test_the_shapes_are_torchvisions(model: ResNet50, name: str, shape: tuple[int, ...]) -> None:
    assert model.state_dict()[name].shape == shape


def test_the_stride_is_in_the_second_convolution(model: ResNet50) -> None:
    strides = {
        name: module.stride
        for name, module in model.named_modules()
        if isinstance(module, torch.nn.Conv2d) and module.stride != (1, 1)
    }
    assert strides == {
        "conv1": (2, 2),
        "layer2.0.conv2": (2, 2),
        "layer2.0.downsample.0": (2, 2),
        "layer3.0.conv2": (2, 2),
        "layer3.0.downsample.0": (2, 2),
        "layer4.0.conv2": (2, 2),
        "layer4.0.downsample.0": (2, 2),
    }


def test_one_update_lowers_the_loss(one_update: Callable[..., tuple[float, float]]) -> None:
    images, labels = torch.rand(4, 3, 64, 64), torch.arange(4)
    before, after = one_update(ResNet50(10), images, labels=labels, rate=0.01)
    assert after < before - 0.01


def test_logits_have_one_column_a_class(model: ResNet50) -> None:
    model.eval()
    assert model(torch.rand(1, 3, 64, 64)).shape == (1, 1000)


def test_no_classes_are_refused() -> None:
    with pytest.raises(InputError, match="num_classes must be a whole number of at least 1, got 0"):
        ResNet50(0)
