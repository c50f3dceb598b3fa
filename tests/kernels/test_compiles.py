"""A GPU's compiler takes the kernels, and its memory what they ask for: shown without a GPU.

Triton's interpreter, which runs them elsewhere without one, lets pass what the compiler refuses.
"""

from types import SimpleNamespace

import pytest
import torch

from rebatch.models import GroupedBatchNorm2d, LanguageModel, MaxPool3x3, fuse
from rebatch.models.conv_relu import BiasedConv2d, BiasedReLU

HOPPER, ROOM = 90, 232_448
"""An H200, and the bytes of a processor's memory that a program may have there."""


@pytest.fixture
def compiled(monkeypatch):
    """The kernels that are launched on CPU tensors: compiled for a GPU by name, and not run."""
    pytest.importorskip("triton")
    if torch.cuda.is_available():
        pytest.skip("a GPU that is there shows it by running them")
    from triton.backends.compiler import GPUTarget
    from triton.runtime import driver, jit

    from rebatch.kernels import recurrence

    found = {}
    launch = jit.JITFunction.run

    def compile_only(self, *args, grid, warmup, **options):
        kernel = launch(self, *args, grid=grid, warmup=True, **options)
        found.setdefault(self.fn.__name__, []).append(kernel)

    gpu = SimpleNamespace(
        get_current_target=lambda: GPUTarget("cuda", HOPPER, 32),
        get_current_device=lambda: 0,
        get_current_stream=lambda device: 0,
    )
    monkeypatch.setattr(driver, "_active", gpu)
    monkeypatch.setattr(jit.JITFunction, "run", compile_only)
    monkeypatch.setattr(recurrence, "_room", lambda device: ROOM)
    return found


def text(columns: int) -> None:
    from rebatch.kernels.cross_entropy import mean_cross_entropy

    model, tokens = LanguageModel(20, 650), torch.zeros(2, columns, dtype=torch.long)
    fuse(model)
    logits, _ = model(tokens, model.initial_state(columns))
    mean_cross_entropy(logits.flatten(0, 1), tokens.flatten()).backward()


def norms() -> None:
    norm, added = GroupedBatchNorm2d(32, norm_batch_size=2), pictures()
    fuse(norm)
    norm(pictures(), added, relu=True).sum().backward()
    sum(norm.of_sum(pictures(), added, relu=True)).sum().backward()


def rectifier_and_pool() -> None:
    conv, pool = BiasedConv2d(32, 32, 1), MaxPool3x3()
    fuse(conv)
    fuse(pool)
    pool(BiasedReLU(conv)(pictures())).sum().backward()


def pictures() -> torch.Tensor:
    images = torch.zeros(4, 32, 8, 8, dtype=torch.bfloat16)
    return images.to(memory_format=torch.channels_last).requires_grad_()


@pytest.mark.parametrize(
    ("launch", "names"),
    [
        (lambda: text(10), "_backward _forward _pack _step _step_back _sum _unpack"),
        (lambda: text(20), "_backward _forward _pack _step _step_back _sum _unpack"),
        (norms, "_back _measure _measure_back _normalize"),
        (rectifier_and_pool, "_back _backward _forward _rectify"),
    ],
    ids=["text", "more-text", "norms", "rectifier-and-pool"],
)
def test_all_kernels_of_an_update_are_compiled_and_fit(compiled, launch, names):
    launch()
    assert " ".join(sorted(compiled)) == names
    kernels = [kernel for of_a_name in compiled.values() for kernel in of_a_name]
    assert all(kernel.asm["cubin"] for kernel in kernels)
    assert max(kernel.metadata.shared for kernel in kernels) <= ROOM


@pytest.mark.parametrize("family", ["text", "norm", "rectifier", "pool"])
def test_what_tries_a_family_is_taken_as_well(compiled, family):
    """A trial that is too small for the compiler would leave every model to PyTorch."""
    from rebatch.kernels.support import runs

    assert runs(family, torch.device("cpu"))
    assert all(kernel.asm["cubin"] for kernels in compiled.values() for kernel in kernels)
    assert compiled
