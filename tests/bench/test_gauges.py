import pytest
import torch

from rebatch.bench import gauges
from rebatch.bench.gauges import Gauged, measure_gauges, share_of
from rebatch.engine.learner import Learner
from rebatch.engine.task import count

EPOCHS = [Gauged(10, 100, 10, 1.0, 1.5), Gauged(20, 50, 10, 2.0, 1.9)]


def test_what_measuring_adds_is_set_against_all_epochs_without_it():
    assert [epoch.plain for epoch in EPOCHS] == [100.0, 100.0]
    assert [epoch.extra for epoch in EPOCHS] == pytest.approx([5.0, -1.0])
    assert share_of(EPOCHS) == pytest.approx(0.02)


def test_updates_that_measure_are_told_from_those_that_do_not(monkeypatch):
    asked, update = [], Learner.update

    def spied(learner, batch, memory, rate, *, measure):
        asked.append((count(batch, learner.task.batch_dim), measure))
        return update(learner, batch, memory, rate, measure=measure)

    monkeypatch.setattr(Learner, "update", spied)
    monkeypatch.setattr(gauges, "FACTORS", (1, 8))
    small, large = measure_gauges(torch.device("cpu"), model="demo", seconds=0.01, rounds=1)
    assert {(16, False), (16, True), (128, False), (128, True)} <= set(asked)
    assert (small.batch_size, small.updates, small.measured) == (16, 90, 9)
    assert (large.batch_size, large.updates, large.measured) == (128, 12, 12)
    assert small.plain_seconds > 0
    assert small.measured_seconds > 0
