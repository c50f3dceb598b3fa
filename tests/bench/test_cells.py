import pytest

from rebatch.bench.cells import ASKED, GPU, Cell, cells
from rebatch.errors import InputError


def test_a_gpu_is_measured_at_every_size_that_is_asked_for():
    found = {(cell.model, cell.batch_size): cell.asked for cell in cells("gpu")}
    assert len(found) == 29
    assert found["L1", 10] == 3.0
    assert found["C2", 1024] == 2.5
    assert found["L1", 640] is None
    assert all(size in GPU[model] for model in ASKED["gpu"] for size in ASKED["gpu"][model])


def test_models_and_sizes_can_be_chosen():
    found = cells("cpu", ["C3", "L1"], [8, 16])
    assert [(cell.model, cell.batch_size) for cell in found] == [
        ("C3", 8),
        ("C3", 16),
        ("L1", 8),
        ("L1", 16),
    ]


def test_a_size_goes_to_the_models_that_have_it():
    found = cells("gpu", ["L1", "C2"], [10, 128])
    assert [(cell.model, cell.batch_size, cell.asked) for cell in found] == [
        ("L1", 10, 3.0),
        ("C2", 128, 4.0),
    ]


def test_a_cpu_must_not_be_slower_than_the_plain_loop():
    assert {cell.asked for cell in cells("cpu")} == {1.0}


def test_a_model_that_nobody_knows_is_refused():
    with pytest.raises(InputError, match=r"only must be one of L1, .*, got 'L9'"):
        cells("gpu", ["L9"])


def test_the_recipe_of_a_cell_has_its_batch_size():
    assert Cell("C3", 512).recipe.baseline_batch_size == 512
    assert Cell("L1-small", 10).recipe.hidden == 200
