"""Bias and rectifier in Triton: its interpreter runs it on a CPU, a GPU with pytest -m gpu."""

import pytest
import torch

SHAPES = ((2, 8, 8, 8), (3, 48, 7, 10), (1, 3, 1, 5), (2, 64, 16, 16))


def errors(dtype, device, shape, tile=None):
    """Return the errors of output and both gradients against double precision."""
    from rebatch.kernels import strips
    from rebatch.kernels.rectify import bias_relu

    strips.TILE = tile or strips.TILE
    torch.manual_seed(0)
    images, wanted = (torch.randn(shape).to(device, dtype) for _ in range(2))
    bias = torch.randn(shape[1], device=device)
    found = []
    ours, exact = (images, bias), (images.double(), bias.double())
    for rectify, given in ((bias_relu, ours), (lambda x, b: (x + b[:, None, None]).relu(), exact)):
        inputs = [part.clone().requires_grad_() for part in given]
        output = rectify(*inputs)
        output.backward(wanted.to(output.dtype))
        found.append([output.detach(), *(part.grad for part in inputs)])
    return [float((a.double() - b).norm() / b.norm()) for a, b in zip(*found, strict=True)]


@pytest.mark.parametrize(("kind", "most"), [("float32", 1e-6), ("float16", 1e-3)])
def test_output_and_gradients_are_those_of_double_precision(interpreted, kind, most):
    found = interpreted(f'[errors(torch.{kind}, "cpu", shape) for shape in SHAPES]')
    assert [len(each) for each in found] == [3] * 4
    assert max(map(max, found)) < most


def test_strips_may_have_several_tiles(interpreted):
    found = interpreted('[errors(torch.float32, "cpu", shape, tile=64) for shape in SHAPES]')
    assert max(map(max, found)) < 1e-6


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("shape", [*SHAPES, (128, 64, 32, 32)])
def test_a_gpu_errs_by_the_rounding_of_bf16(shape):
    assert all(error < 1e-2 for error in errors(torch.bfloat16, "cuda", shape))
