import pytest
import torch

from rebatch.bench.cells import Cell
from rebatch.bench.measure import Pace, measure

CPU = torch.device("cpu")
PLAIN = {"ours", "plain", "plain_resident"}


def measured(model, batch_size, share, *settings):
    pace = Pace(seconds=0.02, rounds=1, share=share)
    told = []
    cell = Cell(model, batch_size, asked=1.0)
    (speed,) = measure([cell], CPU, pace, settings=settings, tell=told.append)
    assert all(len(rounds) == 1 and rounds[0] > 0 for rounds in speed.rounds.values())
    assert speed.limit > 0
    assert speed.memory == {}
    assert f"{model} at {batch_size}: ours" in told
    return speed


def test_images_are_measured_fed_by_workers_and_resident():
    speed = measured("demo", 16, 0.1)
    assert set(speed.rounds) == PLAIN
    assert (speed.precision, speed.updates_in_epoch) == ("fp32", 9)
    assert speed.flops == 716_800  # 2 * 16 * (3 * (64*64 + 64*64 + 64*10) - 64*64)


def test_a_text_is_measured_on_the_device():
    speed = measured("L1", 4, 0.002, "hidden=4")
    assert set(speed.rounds) == {"ours", "plain"}
    assert speed.resident_ratio == speed.ratio("plain")


def test_augmented_images_are_measured():
    assert set(measured("C3", 2, 0.001).rounds) == PLAIN


def test_pairs_are_measured():
    assert set(measured("E1", 2, 0.0002, "hidden=4").rounds) == PLAIN


@pytest.mark.slow
@pytest.mark.parametrize("model", ["C1", "C2", "I1"])
def test_large_networks_are_measured(model):
    speed = measured(model, 2, 0.001)
    assert set(speed.rounds) >= PLAIN
    assert speed.against == ("plain_bf16" if model == "I1" else "plain")


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize(("model", "engine"), [("C3", "eager"), ("C3", "graphs"), ("L1", "graphs")])
def test_a_gpu_is_measured_with_its_memory(model, engine):
    pace = Pace(seconds=0.1, rounds=2, share=0.02)
    device = torch.device("cuda")
    (speed,) = measure([Cell(model, 32, asked=1.0)], device, pace, engine=engine)
    assert speed.engine == engine
    assert set(speed.memory) == set(speed.rounds)
    assert all(size > 0 for size in speed.memory.values())
    assert (speed.graphs > 0) == (engine == "graphs")
    assert 0 < speed.best("ours") < speed.limit
