import pytest
import torch
from torch import nn

from rebatch.engine.gauges import GradientNoise, MicroGradients, NoiseSample, squared_norm


def test_two_norms_give_signal_and_variance():
    # |G|² = 4 and tr(Σ) = 48: |G_b|² = 4 + 48/b is 10 at 8 samples and 5.5 at 32.
    sample = NoiseSample(8, 10.0, 32, 5.5)
    assert sample.signal == pytest.approx(4.0)
    assert sample.variance == pytest.approx(48.0)


def test_the_estimates_are_unbiased_over_unequal_micro_batches():
    # Gradients are g + N(0, I) in 50 dimensions with |g|² = 2: tr(Σ) = 50, noise scale 25.
    generator = torch.Generator().manual_seed(0)
    gradient = torch.full((50,), 0.2)
    sizes = [6, 6, 3]
    noise, signals, variances = GradientNoise(decay=0.999), [], []
    for _ in range(4000):
        means = [gradient + torch.randn(50, generator=generator) / size**0.5 for size in sizes]
        sample = sample_of(means, sizes)
        noise.add(sample)
        signals.append(sample.signal)
        variances.append(sample.variance)
    assert torch.tensor(signals).mean().item() == pytest.approx(2.0, abs=0.1)
    assert torch.tensor(variances).mean().item() == pytest.approx(50.0, abs=1.5)
    assert noise.scale == pytest.approx(25.0, rel=0.1)


def sample_of(means: list[torch.Tensor], sizes: list[int]) -> NoiseSample:
    """Give mean gradients of micro-batches to the gauge as backward passes would."""
    model = nn.Linear(50, 1, bias=False)
    apart = MicroGradients(model)
    for mean, size in zip(means, sizes, strict=True):
        share = size / sum(sizes)
        model.weight.grad = (mean * share).view(1, 50)
        apart.take(size, share)
        assert model.weight.grad is None
    apart.put_back()
    return apart.sample(model.weight.grad.norm())


def test_the_gradient_of_the_update_is_put_back_whole():
    model = nn.ModuleList([nn.Linear(2, 1, bias=False), nn.Linear(2, 1, bias=False)])
    apart = MicroGradients(model)
    for value in (1.0, 2.0):
        model[0].weight.grad = torch.full((1, 2), value)
        apart.take(1, 0.5)
    apart.put_back()
    assert model[0].weight.grad.tolist() == [[3.0, 3.0]]
    assert model[1].weight.grad is None  # a parameter that took no part


def test_a_single_micro_batch_tells_nothing():
    noise = GradientNoise()
    noise.add(None)
    noise.add(NoiseSample(8, 1.0, 8, 1.0))
    assert noise.scale is None
    assert noise == GradientNoise()


def test_the_first_sample_counts_in_full():
    noise = GradientNoise(decay=0.9)
    noise.add(NoiseSample(8, 10.0, 32, 5.5))
    assert noise.scale == pytest.approx(12.0)


def test_without_a_signal_there_is_no_scale_and_it_is_never_negative():
    noise = GradientNoise()
    noise.add(NoiseSample(1, 9.0, 2, 1.0))
    assert noise.scale is None
    noise = GradientNoise()
    noise.add(NoiseSample(1, 1.0, 2, 2.0))
    assert noise.scale == 0.0


def test_the_squared_norm_runs_over_all_tensors():
    assert squared_norm([torch.tensor([3.0]), torch.tensor([[4.0], [0.0]])]).item() == 25.0
