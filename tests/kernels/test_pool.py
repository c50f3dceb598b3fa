"""Max-pooling in Triton: Triton's interpreter runs it on a CPU, a GPU with pytest -m gpu."""

import pytest
import torch
from torch.nn.functional import max_pool2d

SHAPES = ((2, 8, 8, 8), (3, 16, 7, 10), (1, 3, 1, 5), (2, 64, 16, 16))


def differences(dtype, device, shape):
    """Return the largest differences of output and gradient from PyTorch's.

    Numbers are few and small, so that many are equal and all sums of gradients are exact.
    """
    from rebatch.kernels.pool import max_pool

    torch.manual_seed(0)
    images = torch.randint(-4, 4, shape, device=device).to(dtype)
    found = []
    for pool in (max_pool, lambda images: max_pool2d(images, 3, stride=2, padding=1)):
        given = images.clone().requires_grad_()
        output = pool(given)
        wanted = torch.arange(output.numel(), device=device).reshape(output.shape) % 7
        output.backward(wanted.to(dtype))
        found.append((output.detach(), given.grad))
    return [float((ours - theirs).abs().max()) for ours, theirs in zip(*found, strict=True)]


def test_output_and_gradient_are_pytorchs_with_equals_and_at_every_edge(interpreted):
    found = interpreted('[differences(torch.float32, "cpu", shape) for shape in SHAPES]')
    assert found == [[0, 0]] * 4


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("shape", [*SHAPES, (128, 64, 32, 32)])
def test_a_gpu_pools_as_pytorch_does(shape):
    assert differences(torch.bfloat16, "cuda", shape) == [0, 0]
