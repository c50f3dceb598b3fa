import torch

from rebatch.bench.cells import Cell
from rebatch.bench.overhead import OWN, SAMPLER, UPDATE, Overhead, measure_overhead
from rebatch.engine import loop
from rebatch.engine.lines import line


def test_all_but_the_update_and_waiting_for_it_is_overhead():
    found = Overhead({"update": 970.0, "waiting for the loss": 10.0, "rate": 5.0, OWN: 15.0}, [])
    assert found.total == 1000.0
    assert round(found.share, 6) == 0.02


def test_every_part_of_the_real_loop_is_timed():
    cell = Cell("demo", 16)
    found = measure_overhead(torch.device("cpu"), cell=cell, updates=50, rounds=1, share=0.1)
    for part in (UPDATE, SAMPLER, "rate", "tally", "waiting for the loss"):
        assert found.parts[part] > 0
    assert 0 < found.share < 1
    assert any("learner.py" in name for name, _, _ in found.profile)
    assert loop.line is line
