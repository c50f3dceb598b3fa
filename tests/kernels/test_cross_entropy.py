"""The cross-entropy in Triton: its interpreter runs it on a CPU, a GPU with pytest -m gpu."""

import pytest
import torch
from torch.nn.functional import cross_entropy

SHAPES = ((5, 7), (3, 5000), (4, 10_000))


def errors(dtype, device, rows, classes):
    """Return the errors of loss and gradient against double precision."""
    from rebatch.kernels.cross_entropy import mean_cross_entropy

    torch.manual_seed(0)
    logits = (5 * torch.randn(rows, classes)).to(device, dtype)
    targets = torch.randint(classes, (rows,)).to(device)
    found = []
    for loss, kind in ((mean_cross_entropy, dtype), (cross_entropy, torch.float64)):
        own = logits.detach().to(kind).requires_grad_()
        value = loss(own, targets)
        (value * 0.5).backward()
        found.append((value.detach(), own.grad))
    return [float((a.double() - b).norm() / b.norm()) for a, b in zip(*found, strict=True)]


@pytest.mark.parametrize(("kind", "most"), [("float32", 1e-6), ("float16", 1e-3)])
def test_loss_and_gradient_are_those_of_double_precision(interpreted, kind, most):
    found = interpreted(f'[errors(torch.{kind}, "cpu", *shape) for shape in SHAPES]')
    assert len(found) == 3
    assert max(map(max, found)) < most


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("shape", [*SHAPES, (700, 33_278)])
def test_a_gpu_errs_by_the_rounding_of_bf16(shape):
    loss, gradient = errors(torch.bfloat16, "cuda", *shape)
    assert loss < 1e-5
    assert gradient < 1e-2
