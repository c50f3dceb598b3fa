"""Packed matrices in Triton: its interpreter runs them on a CPU, a GPU with pytest -m gpu."""

import pytest
import torch
from torch import nn

from rebatch.kernels import aligned_linear

SHAPES = (
    # rows and width of a matrix, its parts, and what height and width these are padded to
    (12, 10, 4, 16, 64),
    (100, 70, 1, 128, 128),
    (200, 130, 2, 100, 130),
)


def differences(device, rows, width, parts, height, padded):
    """Return how far what is unpacked, and its columns' sums, are from what was packed."""
    from rebatch.kernels.packing import column_sums, packed, unpacked

    torch.manual_seed(0)
    matrix = torch.randint(-8, 8, (rows, width), device=device).float()  # so that sums are exact
    found = packed(matrix, torch.bfloat16, width=padded, parts=parts, height=height)
    turned = torch.full((width, parts, height), 100.0, device=device)  # what is in no sum
    turned[..., : rows // parts] = matrix.t().view(width, parts, -1)
    sums = column_sums(turned.view(width, -1).bfloat16(), rows // parts, parts=parts)
    apart = (unpacked(found, rows, width, parts=parts) - matrix, sums - matrix.sum(1))
    return [float(each.abs().max()) for each in apart]


def linear_errors(dtype, device, rows, width, outputs):
    """Return the errors of a layer's output and gradients against double precision."""
    torch.manual_seed(0)
    ours, exact = (nn.Linear(width, outputs, device=device) for _ in range(2))
    exact.load_state_dict(ours.state_dict())
    exact.double()
    inputs, wanted = (torch.randn(rows, size, device=device) for size in (width, outputs))
    own, copy = inputs.clone().requires_grad_(), inputs.double().requires_grad_()
    results = aligned_linear(ours, own, dtype), exact(copy)
    torch.autograd.backward(results, (wanted.to(dtype), wanted.double()))
    found = [results[0].detach(), own.grad, ours.weight.grad, ours.bias.grad]
    right = [results[1].detach(), copy.grad, exact.weight.grad, exact.bias.grad]
    return [float((a.double() - b).norm() / b.norm()) for a, b in zip(found, right, strict=True)]


def test_what_was_packed_comes_back_with_its_sums_whatever_the_padding(interpreted):
    assert interpreted('[differences("cpu", *shape) for shape in SHAPES]') == [[0, 0]] * 3


def test_a_linear_layer_of_any_width_errs_by_rounding_alone(interpreted):
    assert max(interpreted('linear_errors(torch.float32, "cpu", 300, 50, 70)')) < 1e-6


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("shape", [*SHAPES, (6000, 1500, 4, 1536, 1536), (2600, 650, 4, 704, 768)])
def test_a_gpu_packs_and_sums_exactly(shape):
    assert differences("cuda", *shape) == [0, 0]


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("shape", [(300, 50, 70), (1400, 1500, 10_000)])
def test_a_gpu_errs_by_the_rounding_of_bf16(shape):
    assert all(error < 1e-2 for error in linear_errors(torch.bfloat16, "cuda", *shape))
