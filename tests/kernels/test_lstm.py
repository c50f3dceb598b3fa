"""The recurrence in Triton: Triton's interpreter runs it on a CPU, a GPU with pytest -m gpu."""

import pytest
import torch
from torch import nn

from rebatch.kernels import can_fuse, fused_lstm
from rebatch.models import LanguageModel


def errors(dtype, device, columns, units=24, layers=2):
    """Return the errors of output, state and gradients against nn.LSTM in double precision."""
    torch.manual_seed(0)
    ours, exact = (nn.LSTM(20, units, layers, device=device) for _ in range(2))
    exact.load_state_dict(ours.state_dict())
    exact.double()
    inputs = torch.randn(4, columns, 20, device=device, requires_grad=True)
    copy = inputs.detach().double().requires_grad_()
    state = tuple(torch.randn(layers, columns, units, device=device) for _ in range(2))
    wanted = torch.randn(4, columns, units, device=device)
    output, (h, c) = fused_lstm(ours, inputs, state, dtype)
    assert not output[..., units:].any()
    output = output[..., :units]
    (output.float() * wanted).sum().backward()
    found = [output, h, c, inputs.grad, *(weight.grad for weight in ours.parameters())]
    output, (h, c) = exact(copy, tuple(part.double() for part in state))
    (output * wanted.double()).sum().backward()
    right = [output, h, c, copy.grad, *(weight.grad for weight in exact.parameters())]
    pairs = [(a.detach().double(), b.detach()) for a, b in zip(found, right, strict=True)]
    return [float((a - b).norm() / b.norm()) for a, b in pairs]


def test_output_state_and_gradients_are_those_of_the_lstm_in_double_precision(interpreted):
    single, half = interpreted('[errors(k, "cpu", 5) for k in (torch.float32, torch.float16)]')
    assert len(single) == 12
    assert max(single) < 1e-6
    assert max(half) < 1e-3


@pytest.mark.parametrize("columns", [10, 20, 80])
@pytest.mark.parametrize("units", [200, 650, 1500])
@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_gpu_errs_by_the_rounding_of_bf16(columns, units):
    assert can_fuse(torch.device("cuda"), "text")
    assert all(error < 1e-2 for error in errors(torch.bfloat16, "cuda", columns, units))


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_fused_model_learns_as_the_plain_one_to_the_rounding_of_bf16():
    torch.manual_seed(0)
    model = LanguageModel(100, 64, dropout=0.0).cuda()
    tokens = torch.randint(0, 100, (35, 20), device="cuda")
    found = []
    for fused in (False, True):
        model.fused = fused
        model.zero_grad()
        with torch.autocast("cuda", dtype=torch.bfloat16):
            logits, _ = model(tokens, model.initial_state(20))
        nn.functional.cross_entropy(logits.float().flatten(0, 1), tokens.flatten()).backward()
        found.append(torch.cat([weight.grad.flatten() for weight in model.parameters()]))
    assert (found[0] - found[1]).norm() < 2e-2 * found[0].norm()
