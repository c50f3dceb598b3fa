import math

import pytest
import torch

from rebatch.engine.gauges import NoiseSample
from rebatch.engine.learner import Outcome
from rebatch.engine.state import Progress, Tally, better


def outcome(loss: float = 1.0, norm: float = 2.0, correct: int | None = 3) -> Outcome:
    right = None if correct is None else torch.tensor(correct)
    memory = (torch.ones(1, 2, 3),)
    noise = NoiseSample(1, 3.0, 2, 2.0)
    return Outcome(torch.tensor(loss), right, torch.tensor(norm), memory, noise)


def test_means_are_over_samples_and_updates():
    tally = Tally()
    tally.add(outcome(loss=1.0, norm=3.0), 10, clip=2.0)
    tally.add(outcome(loss=4.0, norm=1.0), 5, clip=2.0)
    assert tally.figures(counts_correct=True) == {
        "train_loss": 2.0,
        "gradient_norm": 2.0,
        "clipped_share": 0.5,
        "train_accuracy": 40.0,
    }
    assert "train_accuracy" not in tally.figures(counts_correct=False)


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_loss_or_a_gradient_that_is_no_number_is_noticed(bad):
    for values in ({"loss": bad}, {"norm": bad}):
        tally = Tally()
        tally.add(outcome(**values), 1, clip=None)
        tally.add(outcome(), 1, clip=None)
        assert not tally.is_finite()
    assert Tally().is_finite()


def test_the_best_epoch_is_picked_by_the_metric_that_selects():
    progress = Progress()
    for epoch, (valid, test) in enumerate([(90.0, 80.0), (85.0, 95.0), (86.0, 70.0)]):
        progress.begin(epoch)
        progress.judge({"valid_perplexity": valid, "test_perplexity": test}, "valid_perplexity")
    assert progress.history == [90.0, 85.0, 86.0]
    assert progress.best == {
        "by": "valid_perplexity",
        "epoch": 1,
        "valid_perplexity": 85.0,
        "test_perplexity": 95.0,
    }
    assert progress.extremes == {"test_perplexity": 70.0}
    assert progress.final == {"valid_perplexity": 86.0, "test_perplexity": 70.0}


def test_the_first_of_equal_epochs_is_the_best():
    progress = Progress()
    for epoch in range(2):
        progress.begin(epoch)
        progress.judge({"test_accuracy": 50.0}, "test_accuracy")
    assert progress.best["epoch"] == 0


def test_higher_accuracy_and_lower_perplexity_are_better_and_nothing_that_is_no_number():
    assert better(2.0, 1.0, "test_accuracy")
    assert better(1.0, 2.0, "test_loss")
    assert not better(1.0, 1.0, "test_loss")
    assert not better(math.nan, 1.0, "test_loss")


def test_a_new_epoch_starts_from_nothing_and_the_one_under_way_goes_on():
    progress = Progress()
    progress.add(outcome(), 4, clip=None)
    progress.begin(0)
    assert (progress.done, progress.tally.updates) == (1, 1)
    progress.begin(1)
    assert (progress.epoch, progress.done, progress.update) == (1, 0, 1)
    assert progress.tally == Tally()
    assert progress.memory is None


def test_values_come_back_as_they_were():
    progress = Progress(seconds=3.5, log_length=100)
    progress.add(outcome(), 4, clip=1.0)
    progress.judge({"test_accuracy": 50.0}, "test_accuracy")
    again = Progress.restored(progress.values())
    assert again.values() | {"memory": None} == progress.values() | {"memory": None}
    assert torch.equal(again.memory[0], progress.memory[0])
    assert again.noise.scale == progress.noise.scale
    assert isinstance(progress.values()["tally"]["loss"], float)
