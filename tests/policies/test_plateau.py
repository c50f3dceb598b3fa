import pytest

from rebatch import InputError
from rebatch.policies import Outlook, Seen, plateau


def losses(values, name="train_loss"):
    return lambda decision, epoch: {"train_loss": 1.0, name: values[epoch]}


def sizes(run):
    return [row.batch_size for row in run[0]]


def test_the_batch_grows_after_more_epochs_than_patience_without_a_better_loss(follow):
    run = follow(plateau(10), 8, losses([3.0, 2.0, 2.1, 1.9, 1.95, 1.9, 2.0, 1.8]))
    assert sizes(run) == [10, 10, 10, 10, 10, 10, 10, 20]
    assert [decision.reason for decision in run[1]][1:] == [
        "train_loss 3 is the best so far",
        "train_loss 2 is the best so far",
        "train_loss 2.1 is no better than 2, 1 of 2",
        "train_loss 1.9 is the best so far",
        "train_loss 1.95 is no better than 1.9, 1 of 2",
        "train_loss 1.9 is no better than 1.9, 2 of 2",
        "train_loss 2: no better one for more than 2 epochs",
    ]
    assert run[1][5].gauges == {"train_loss": 1.95, "best": 1.9, "bad_epochs": 1}


def test_a_loss_that_falls_less_than_the_threshold_is_no_better(follow):
    falling = losses([2.0, 1.99, 1.98, 1.97])
    assert sizes(follow(plateau(10, patience=0, threshold=0.004), 4, falling)) == [10] * 4
    assert sizes(follow(plateau(10, patience=0, threshold=0.006), 4, falling)) == [10, 10, 20, 20]


def test_the_threshold_may_be_a_difference(follow):
    falling = losses([200.0, 199.0, 198.0])
    rule = plateau(10, patience=0, threshold=0.9, absolute=True)
    assert sizes(follow(rule, 3, falling)) == [10, 10, 10]
    rule = plateau(10, patience=0, threshold=1.0, absolute=True)
    assert sizes(follow(rule, 3, falling)) == [10, 10, 20]


def test_a_threshold_that_no_loss_could_beat_is_refused():
    with pytest.raises(InputError, match=r"^threshold must be below 1 unless absolute, got 1$"):
        plateau(10, threshold=1)
    assert plateau(10, threshold=1, absolute=True).threshold == 1


def test_nothing_is_counted_for_a_while_after_a_growth(follow):
    run = follow(plateau(10, patience=0, cooldown=2), 7, losses([1.0] * 7))
    assert sizes(run) == [10, 10, 20, 20, 20, 40, 40]
    assert run[1][3].reason == "train_loss 1 does not count so soon after a growth"


def test_sizes_are_computed_from_the_base_and_rounded_once(follow):
    run = follow(plateau(10, patience=0, factor=1.5), 6, losses([1.0] * 6))
    assert sizes(run) == [10, 10, 15, 22, 34, 51]


def test_the_largest_size_is_a_limit(follow):
    run = follow(plateau(10, patience=0, largest=30), 5, losses([1.0] * 5))
    assert sizes(run) == [10, 10, 20, 30, 30]
    assert run[1][4].reason == (
        "train_loss 1: no better one for more than 0 epochs, but 30 is the limit"
    )


def test_the_validation_figure_may_be_watched(follow):
    rule = plateau(10, patience=0, watch="validation")
    assert sizes(follow(rule, 3, losses([80.0, 90.0, 70.0], "validation"))) == [10, 10, 20]


def test_a_validation_figure_that_is_not_there_cannot_be_watched():
    seen = [Seen(10, 0, 1, 100, 0, 0, 1.0)]
    with pytest.raises(InputError) as caught:
        plateau(10, watch="validation").next(seen, Outlook(9, 1, lambda size: 9, 999))
    assert str(caught.value) == (
        "watch must be train_loss where there is no validation data, got 'validation'"
    )


def test_the_defaults_of_increase_bs_on_plateau_are_one_case(follow, stairs):
    """One good epoch, then more than 10 bad ones: after 12 epochs, and every 11 from then on."""
    rule = plateau(16, patience=10, threshold=1e-4)
    run = follow(rule, 40, losses([1.0] * 40))
    assert stairs(run[0]) == [(16, 12), (32, 11), (64, 11), (128, 6)]
