import pytest
import torch
from torch import nn

from rebatch.bench.roofline import Rates, Work, count_work, measure_rates
from rebatch.models import LanguageModel


def test_a_matrix_product_is_counted_three_times_forward_and_backward():
    model = nn.Sequential(nn.Linear(10, 20, bias=False), nn.Linear(20, 5, bias=False)).to("meta")
    images = torch.zeros(8, 10, device="meta")
    work = count_work(model, lambda model: model(images).sum())
    # Forward 2*8*(10*20 + 20*5); backward the same for the weights, and 2*8*20*5 for the input.
    assert work.flops == 4800 + 4800 + 1600
    assert work.parameters == 300
    assert work.kept == 8 * 10 + 8 * 20


def test_the_recurrent_model_is_counted_too():
    model = LanguageModel(10_000, 650).to("meta")
    tokens = torch.zeros(35, 20, dtype=torch.long, device="meta")

    def loss(model):
        logits, _ = model(tokens, model.initial_state(20))
        return nn.functional.cross_entropy(logits.flatten(0, 1), tokens.flatten())

    assert round(count_work(model, loss).flops / 1e9) == 56


@pytest.mark.parametrize(("momentum", "bytes"), [(False, 2 * 4 * 100 + 24 * 10), (True, 1120)])
def test_traffic_is_activations_twice_and_parameters(momentum, bytes):
    assert Work(1e9, kept=100, parameters=10, momentum=momentum).bytes(width=4) == bytes


def test_arithmetic_or_memory_is_the_limit():
    rates = Rates(flops=1e12, bandwidth=1e9)
    assert rates.limit(Work(1e10, kept=100, parameters=0), width=2) == 100.0
    assert rates.limit(Work(1e6, kept=5e6, parameters=0), width=2) == 50.0


def test_rates_of_this_machine_are_plausible():
    rates = measure_rates(torch.device("cpu"), "fp32")
    assert 1e9 < rates.flops < 1e14
    assert 1e8 < rates.bandwidth < 1e13
