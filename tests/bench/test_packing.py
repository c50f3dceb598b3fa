"""Several runs at once: real processes on the CPU, for as long as it takes to see them work."""

import os

import pytest
import torch

from rebatch.bench.cells import Cell
from rebatch.bench.packing import Level, _heard, _Member, _members, measure_packing
from rebatch.errors import InputError, RunError

CPU = torch.device("cpu")


def test_a_level_makes_the_updates_of_all_its_runs():
    assert Level(3, (1.0, 2.0, 4.5)).together == 7.5


def test_one_run_and_two_at_once_are_measured():
    levels, served = measure_packing(CPU, cell=Cell("demo", 16), jobs=[2], seconds=0.1, share=0.1)
    assert [(level.jobs, len(level.each)) for level in levels] == [(1, 1), (2, 2)]
    assert all(speed > 0 for level in levels for speed in level.each)
    assert not served


def test_a_setting_that_makes_no_sense_is_refused_before_any_process():
    with pytest.raises(InputError, match="did you mean hidden"):
        measure_packing(CPU, cell=Cell("demo", 16), jobs=[2], settings=("hiden=3",))


def test_a_run_that_ends_is_told_and_none_is_left_behind():
    member = _Member("demo", 16, "cpu", "eager", (), 0.1)
    with _members(member, 1, dict(os.environ)) as (process,):
        process.kill()
        with pytest.raises(RunError, match="a run beside others ended with code -9"):
            _heard(process)
    assert process.poll() == -9
