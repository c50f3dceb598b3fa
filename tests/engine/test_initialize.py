import pytest
import torch
from torch import Tensor, nn

from rebatch.engine.initialize import initialize
from rebatch.errors import InputError


def network() -> nn.Sequential:
    """Two convolutions and two dense layers on 3x8x8 images, with batch norm between."""
    return nn.Sequential(
        nn.Conv2d(3, 64, 5, padding=2),
        nn.ReLU(),
        nn.BatchNorm2d(64),
        nn.Conv2d(64, 128, 3, padding=1),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(128 * 64, 200),
        nn.ReLU(),
        nn.Linear(200, 100),
    )


def started(how: str, sample: Tensor | None = None) -> nn.Sequential:
    model = network()
    initialize(model, how, sample=sample, generator=torch.Generator().manual_seed(0))
    return model


def test_default_leaves_the_model_as_built() -> None:
    model = network()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    initialize(model, "default")
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())


@pytest.mark.parametrize(
    ("how", "second_convolution", "first_dense"),
    [
        ("xavier", 0.0340, 0.01544),  # sqrt(2 / (576 + 1152)), sqrt(2 / (8192 + 200))
        ("msra", 0.0589, 0.01563),  # sqrt(2 / 576), sqrt(2 / 8192)
        ("orthogonal", 0.0589, 0.01563),  # rows of length sqrt(2)
        ("gaussian-0.1", 0.1, 0.1),
        ("gaussian-0.01", 0.01, 0.01),
    ],
)
def test_measured_deviations(how: str, second_convolution: float, first_dense: float) -> None:
    model = started(how)
    assert model[3].weight.std().item() == pytest.approx(second_convolution, rel=0.01)
    assert model[6].weight.std().item() == pytest.approx(first_dense, rel=0.01)


def test_xavier_is_uniform() -> None:
    weight = started("xavier")[6].weight
    assert weight.max().item() == pytest.approx(0.02674, rel=0.001)  # sqrt(6 / (8192 + 200))


@pytest.mark.parametrize("layer", [0, 3, 6, 8])
def test_orthogonal_rows_are_orthogonal_with_the_gain_of_relu(layer: int) -> None:
    rows = started("orthogonal")[layer].weight.flatten(1)
    torch.testing.assert_close(rows @ rows.T, 2 * torch.eye(len(rows)), rtol=0, atol=1e-5)


@pytest.mark.parametrize("how", ["xavier", "msra", "orthogonal", "gaussian-0.1"])
def test_biases_start_at_zero_and_batch_norm_at_one_and_zero(how: str) -> None:
    model = network()
    nn.init.constant_(model[2].weight, 3)
    nn.init.constant_(model[2].bias, 4)
    model(torch.randn(4, 3, 8, 8))
    initialize(model, how)
    assert not any(model[layer].bias.any() for layer in (0, 2, 3, 6, 8))
    assert model[2].weight.tolist() == model[2].running_var.tolist() == [1.0] * 64
    assert not model[2].running_mean.any()


def test_the_same_generator_gives_the_same_start() -> None:
    first, second = started("msra"), started("msra")
    assert torch.equal(first[0].weight, second[0].weight)


def test_lsuv_gives_every_layer_unit_output_variance() -> None:
    sample = 5 * torch.randn(32, 3, 8, 8, generator=torch.Generator().manual_seed(1)) + 2
    model = started("lsuv", sample).eval()
    variances = {}
    images = sample
    for place, layer in enumerate(model):
        images = layer(images)
        variances[place] = images.var().item()
    assert [variances[place] for place in (0, 3, 6, 8)] == pytest.approx([1] * 4, abs=0.1)
    assert not any(model[layer].bias.any() for layer in (0, 3, 6, 8))


def test_lsuv_only_scales_an_orthonormal_start() -> None:
    rows = started("lsuv", torch.rand(16, 3, 8, 8))[3].weight.flatten(1)
    gram = rows @ rows.T
    torch.testing.assert_close(gram, gram[0, 0] * torch.eye(128), rtol=0, atol=1e-4)


def test_lsuv_leaves_no_trace_but_the_weights() -> None:
    model = started("lsuv", torch.rand(16, 3, 8, 8))
    assert model.training
    assert all(not module._forward_hooks for module in model.modules())
    assert model[2].num_batches_tracked.item() == 0


class Joined(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.dense = nn.Linear(4, 200)

    def forward(self, left: Tensor, right: Tensor) -> Tensor:
        return self.dense(torch.cat([left, right], dim=1))


def test_lsuv_takes_the_arguments_of_a_model_of_several() -> None:
    model, sample = Joined(), (3 * torch.randn(50, 2), torch.randn(50, 2))
    initialize(model, "lsuv", sample=sample)
    assert model(*sample).var().item() == pytest.approx(1, abs=0.1)


def test_lsuv_without_a_sample_is_refused() -> None:
    with pytest.raises(InputError, match="sample must be a batch for lsuv, got None"):
        started("lsuv")


def test_lsuv_on_a_sample_that_says_nothing_is_refused() -> None:
    with pytest.raises(InputError, match="sample must make the output of every layer vary, got"):
        started("lsuv", torch.zeros(4, 3, 8, 8))


@pytest.mark.parametrize(
    "how", ["glorot", "gaussian", "gaussian-", "gaussian-x", "gaussian--1", ""]
)
def test_an_unknown_name_is_refused_with_the_choices(how: str) -> None:
    choices = "default, xavier, msra, orthogonal, lsuv, gaussian-SIGMA"
    with pytest.raises(InputError, match=f"initialization must be one of {choices}, got '{how}'"):
        started(how)
