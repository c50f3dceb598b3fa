import copy

import pytest
import torch
from torch import nn

from rebatch.engine.casting import cast_together
from rebatch.models import ESIM, MLP3, CifarResNet, LanguageModel, WideResNet, alexnet_like


def small(name: str) -> nn.Module:
    torch.manual_seed(0)
    model = {
        "C1": alexnet_like,
        "C2": lambda: WideResNet(depth=10, width=1),
        "C3": lambda: CifarResNet(depth=8),
        "C4": MLP3,
    }[name]()
    return model.to(memory_format=torch.channels_last)


def learn(model: nn.Module, forward, images, device: str = "cpu") -> list[torch.Tensor]:
    """The logits of two micro-batches, and the gradients and statistics they leave."""
    found = []
    for part in images.to(device).split(4):
        with torch.autocast(device, dtype=torch.bfloat16, cache_enabled=False):
            logits = forward(part)
        nn.functional.cross_entropy(logits.float(), torch.arange(4, device=device)).backward()
        found.append(logits.detach())
    return [*found, *(weight.grad for weight in model.parameters()), *model.buffers()]


@pytest.mark.parametrize("name", ["C1", "C2", "C3", "C4"])
def test_logits_gradients_and_statistics_are_bit_for_bit_those_of_autocast(name: str) -> None:
    model, images = small(name), torch.rand(8, 3, 32, 32)
    plain = copy.deepcopy(model)
    ours, theirs = learn(model, cast_together(model), images), learn(plain, plain, images)
    for mine, its in zip(ours, theirs, strict=True):
        assert torch.equal(mine, its)
        assert mine.dtype == its.dtype
        assert mine.stride() == its.stride()


def test_parameters_stay_what_and_where_they_were() -> None:
    model = small("C3")
    before = [(name, id(weight), weight.dtype) for name, weight in model.named_parameters()]
    learn(model, cast_together(model), torch.rand(8, 3, 32, 32))
    assert before == [(name, id(weight), weight.dtype) for name, weight in model.named_parameters()]
    assert all(weight.grad.dtype == torch.float32 for weight in model.parameters())


def test_an_evaluated_model_is_called_as_it_is() -> None:
    model, images = small("C3").eval(), torch.rand(8, 3, 32, 32)
    assert torch.equal(cast_together(model)(images), model(images))


@pytest.mark.parametrize("model", [LanguageModel(10, 4), ESIM(torch.rand(10, 4), hidden=4)])
def test_a_recurrent_model_is_left_alone(model: nn.Module) -> None:
    assert cast_together(model) is model


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("name", ["C1", "C2", "C3", "C4"])
def test_one_kernel_casts_all_weights_of_a_gpu_and_one_their_gradients(name: str) -> None:
    model, images = small(name).cuda(), torch.rand(4, 3, 32, 32)
    forward = cast_together(model)
    learn(model, forward, images, "cuda")
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        learn(model, forward, images, "cuda")
    names = [event.name for event in profile.events() if "multi_tensor_apply" in event.name]
    assert len(names) == 2


def test_a_weight_that_two_layers_share_is_cast_once() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4))
    model[2].weight = model[0].weight
    plain = copy.deepcopy(model)
    images = torch.rand(8, 4)
    ours, theirs = learn(model, cast_together(model), images), learn(plain, plain, images)
    for mine, its in zip(ours, theirs, strict=True):
        torch.testing.assert_close(mine, its, rtol=1e-2, atol=1e-3)
