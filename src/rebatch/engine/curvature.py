"""How sharply the loss bends: the top eigenvalue of its Hessian, by power iteration."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

import torch
from torch import Tensor, nn

from rebatch.engine.learner import Learner
from rebatch.engine.task import count
from rebatch.errors import positive_int, positive_number


class Curvature(NamedTuple):
    """A measured eigenvalue, and what it cost."""

    eigenvalue: float
    products: int
    """Hessian-vector products that it took, each about two backward passes."""
    seconds: float


def measure_curvature(
    learner: Learner,
    *,
    samples: int = 128,
    iterations: int = 10,
    tolerance: float = 1e-2,
    seed: int = 0,
) -> Curvature:
    """Return the top eigenvalue on ``samples`` training samples as they are, not augmented.

    The seed picks the samples and the vector to start from.  For text a sample is a column.  Ranks
    do not meet in it: one of them may measure alone.
    """
    task, model = learner.task, learner.model
    batch = task.plain_batch(samples, seed)
    memory = task.memory(model, count(batch, task.batch_dim))
    return top_eigenvalue(
        model,
        lambda: task.loss(model, batch, memory).mean,
        iterations=iterations,
        tolerance=tolerance,
        seed=seed,
    )


def top_eigenvalue(
    model: nn.Module,
    loss: Callable[[], Tensor],
    *,
    iterations: int = 10,
    tolerance: float = 1e-2,
    seed: int = 0,
) -> Curvature:
    """Return the largest eigenvalue of the Hessian of ``loss`` in the trained parameters.

    Power iteration v ← Hv/|Hv|, read off as vᵀHv, until it changes by less than ``tolerance`` of
    itself or ``iterations`` are done (Yao et al., 2018).  It finds the eigenvalue of largest size:
    where that is a negative one, λ₋, a second iteration on H − λ₋I, whose eigenvalues are all
    positive, finds the largest.  So the answer is negative only where the loss bends down in every
    direction.

    The model is put in evaluation mode meanwhile; its gradients, modes and the state of all random
    numbers are afterwards what they were.

    >>> model = nn.Linear(2, 1, bias=False)
    >>> bends = torch.tensor([[6.0, 2.0]])
    >>> round(top_eigenvalue(model, lambda: (bends * model.weight**2).sum() / 2).eigenvalue, 1)
    6.0
    """
    iterations = positive_int("iterations", iterations)
    tolerance = positive_number("tolerance", tolerance, zero=True)
    started = time.perf_counter()
    with _measuring(model):
        hessian = _Hessian(model, loss)
        value, products = _power(hessian, iterations, tolerance, seed)
        if value < 0:
            value, more = _power(hessian, iterations, tolerance, seed, shift=value)
            products += more
    return Curvature(value, products, time.perf_counter() - started)


class _Hessian:
    """The second derivatives of a loss, as a matrix that can only be multiplied with."""

    def __init__(self, model: nn.Module, loss: Callable[[], Tensor]) -> None:
        trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
        found: tuple[Tensor | None, ...] = torch.autograd.grad(
            loss(), trained, create_graph=True, allow_unused=True
        )
        # Where the loss is flat or linear in a parameter, its rows of the matrix are 0.
        pairs = list(zip(trained, found, strict=True))
        self._parameters = [p for p, g in pairs if g is not None and g.requires_grad]
        self._gradients = [g for _, g in pairs if g is not None and g.requires_grad]
        self._sizes = [p.numel() for p in self._parameters]

    def start(self, seed: int) -> Tensor:
        """Return a random vector of length 1, drawn on the CPU to be the same on any device."""
        generator = torch.Generator().manual_seed(seed)
        vector = torch.randn(sum(self._sizes), generator=generator)
        if self._parameters:
            vector = vector.to(self._parameters[0])
        return nn.functional.normalize(vector, dim=0)

    def times(self, vector: Tensor) -> Tensor:
        """Return Hv: the derivative of the gradient's product with v."""
        if not self._parameters:
            return torch.zeros_like(vector)
        parts = zip(torch.split(vector, self._sizes), self._parameters, strict=True)
        rows = torch.autograd.grad(
            self._gradients,
            self._parameters,
            [part.view_as(parameter) for part, parameter in parts],
            retain_graph=True,
            materialize_grads=True,
        )
        return torch.cat([row.flatten() for row in rows])


def _power(
    hessian: _Hessian, iterations: int, tolerance: float, seed: int, shift: float = 0.0
) -> tuple[float, int]:
    """Return the eigenvalue of H that is the farthest from ``shift``, and the products taken."""
    vector, value = hessian.start(seed), float("inf")
    for number in range(1, iterations + 1):
        image = hessian.times(vector)
        before, value = value, float(vector @ image)
        image = image - shift * vector
        length = float(image.norm())
        if length == 0 or abs(value - before) <= tolerance * abs(value - shift):
            return value, number
        vector = image / length
    return value, iterations


@contextmanager
def _measuring(model: nn.Module) -> Iterator[None]:
    """Evaluate in full precision, in a way that can be differentiated twice.

    cuDNN has no second derivative of an LSTM, and in evaluation mode not even the first, which
    rules out differences of gradients as well: so models with one go without cuDNN here.
    """
    modes = [(module, module.training) for module in model.modules()]
    device = next(model.parameters()).device.type
    recurrent = any(isinstance(module, nn.RNNBase) for module, _ in modes)
    cudnn, products = torch.backends.cudnn, torch.backends.cuda.matmul
    kept = cudnn.enabled, cudnn.allow_tf32, products.allow_tf32
    try:
        cudnn.enabled = cudnn.enabled and not recurrent
        cudnn.allow_tf32 = products.allow_tf32 = False
        model.eval()
        with torch.enable_grad(), torch.autocast(device, enabled=False):
            yield
    finally:
        cudnn.enabled, cudnn.allow_tf32, products.allow_tf32 = kept
        for module, training in modes:
            module.training = training
