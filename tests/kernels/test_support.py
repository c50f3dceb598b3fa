"""Which kernels are used: Triton's interpreter runs them, and ours to fail, on a CPU."""

import logging

import pytest
import torch

from rebatch.kernels import can_fuse
from rebatch.kernels.support import TRIALS, runs
from rebatch.models import CifarResNet, LanguageModel, MaxPool3x3, fuse
from rebatch.models.conv_relu import BiasedConv2d

CPU = torch.device("cpu")
KERNELS = {
    "text": ("recurrence", "_step_back"),
    "norm": ("normalize", "_measure"),
    "rectifier": ("rectify", "_back"),
    "pool": ("pool", "_forward"),
}
"""A kernel of each family: module and name."""


def left_to_each():
    """Return, for a failing kernel of each family, which families run, and what was said."""
    logged = []
    handler = logging.Handler()
    handler.emit = lambda record: logged.append(record.getMessage())
    logging.getLogger("rebatch").addHandler(handler)
    found = {}
    for family, (module, name) in KERNELS.items():
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(f"rebatch.kernels.{module}.{name}", refused_kernel())
            found[family] = [each for each in TRIALS if runs(each, CPU)], logged[:]
        logged.clear()
    return found


def refused_kernel():
    import triton

    @triton.jit
    def refused(*arguments):
        raise MemoryError("out of resource: shared memory\nand more")

    return refused


def random_number_behind_a_try():
    torch.manual_seed(0)
    assert runs("text", CPU)
    return torch.rand(()).item()


@pytest.mark.parametrize("family", TRIALS)
def test_a_processor_has_no_use_for_kernels(family):
    assert not can_fuse(CPU, family)


def test_a_family_whose_kernel_fails_is_left_to_pytorch_and_the_others_are_not(interpreted):
    found = interpreted("left_to_each()")
    assert list(found) == list(TRIALS)
    for family, (left, said) in found.items():
        assert left == [each for each in TRIALS if each != family]
        assert len(said) == 1
        assert said[0].startswith(f"no kernels of our own for {family}, PyTorch's are taken: ")
        assert "\n" not in said[0]


def test_a_try_does_not_change_what_a_seed_gives(interpreted):
    torch.manual_seed(0)
    assert interpreted("random_number_behind_a_try()") == torch.rand(()).item()


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("family", TRIALS)
def test_a_gpu_runs_them(family):
    assert can_fuse(torch.device("cuda"), family)


@pytest.mark.parametrize(
    ("model", "families"),
    [
        (LanguageModel(20, 8), {"text"}),
        (CifarResNet(10), {"norm"}),
        (BiasedConv2d(3, 8, 1), {"rectifier"}),
        (MaxPool3x3(), {"pool"}),
    ],
    ids=["text", "norm", "rectifier", "pool"],
)
def test_a_model_asks_for_its_own_families_and_trains_with_those_that_can(model, families):
    asked = set()
    fuse(model, lambda family: asked.add(family))
    assert asked == families
    assert not any(getattr(module, "fused", False) for module in model.modules())
    fuse(model, lambda family: family in families)
    own = [module for module in model.modules() if hasattr(module, "fused")]
    assert own
    assert all(module.fused for module in own)
