import pytest
import torch

from rebatch.engine.precision import autocast, choose_device, choose_engine, set_precision
from rebatch.errors import InputError

CPU = torch.device("cpu")


def test_auto_takes_a_gpu_where_there_is_one():
    assert choose_device("auto").type == ("cuda" if torch.cuda.is_available() else "cpu")
    assert choose_device("cpu") == CPU


@pytest.mark.parametrize("name", ["gpu", "cuda:99", "", "meta2", "meta", "xla"])
def test_a_device_that_is_not_here_is_refused_in_one_line(name):
    with pytest.raises(InputError) as error:
        choose_device(name)
    assert str(error.value).startswith(f"device must be auto, cpu or a device here, got {name!r}")
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 300


def test_bf16_computes_products_in_bf16_and_nothing_else_does():
    a = torch.ones(2, 2)
    for precision, dtype in (("fp32", torch.float32), ("tf32", torch.float32)):
        with autocast(precision, CPU):
            assert (a @ a).dtype == dtype
    with autocast("bf16", CPU):
        assert (a @ a).dtype == torch.bfloat16


def test_an_unknown_precision_is_refused():
    with pytest.raises(
        InputError, match=r"precision must be one of fp32, tf32, bf16, fp64, got 'fp8'"
    ):
        set_precision("fp8", CPU)
    set_precision("tf32", CPU)


def test_auto_makes_updates_one_operation_after_the_other():
    assert choose_engine("auto", torch.device("cpu"), 1) == "eager"


def test_graphs_are_refused_on_a_cpu():
    said = "engine must be eager except on one GPU, got graphs on the device cpu"
    with pytest.raises(InputError, match=said):
        choose_engine("graphs", torch.device("cpu"), 1)


def test_graphs_are_refused_over_several_processes():
    with pytest.raises(InputError, match="got graphs on 2 processes"):
        choose_engine("graphs", torch.device("cuda"), 2)


def test_an_unknown_engine_is_refused():
    with pytest.raises(InputError, match="engine must be one of auto, eager, graphs, compiled"):
        choose_engine("steam", torch.device("cpu"), 1)
