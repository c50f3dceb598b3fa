import pickle

import pytest

from rebatch import InputError
from rebatch.policies import Outlook, Policy, Seen, absa, auto, gns, plateau

MAKERS = [absa, auto, gns, plateau]
OUTLOOK = Outlook(39, 0, lambda size: 1000 // size, 1000)


@pytest.mark.parametrize("make", MAKERS)
def test_a_policy_is_a_value(make):
    policy = make(10, largest=80)
    assert policy == pickle.loads(pickle.dumps(policy)) == make(10, largest=80)
    assert policy != make(10)
    assert hash(policy) == hash(make(10, largest=80))
    assert repr(policy) == f"{make.__name__}(10, largest=80)"


@pytest.mark.parametrize("make", MAKERS)
def test_a_run_starts_with_an_epoch_at_the_base(make):
    decision = make(10).first(OUTLOOK)
    assert (decision.batch_size, decision.epochs, decision.rate_factor) == (10, 1, 1.0)


@pytest.mark.parametrize("make", MAKERS)
def test_a_base_beyond_the_data_starts_at_the_largest_size_that_gives_an_update(make):
    assert make(4000).first(OUTLOOK).batch_size == 1000


@pytest.mark.parametrize("make", MAKERS)
def test_the_same_rows_give_the_same_decision(make):
    seen = [Seen(10, 0, 1, 100, 0, 0, 2.0, noise_scale=50.0, eigenvalue=3.0)]
    decided = [make(10).next(seen, OUTLOOK._replace(done=1)) for _ in range(2)]
    assert decided[0] == decided[1]


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"base": 0}, "base must be a whole number of at least 1, got 0"),
        ({"base": 10, "largest": 5}, "largest must be at least base, which is 10, got 5"),
        ({"base": 10, "measure_every": 0}, "measure_every must be a whole number of at least 1"),
    ],
)
def test_what_no_policy_can_be_is_refused(make, options, message):
    with pytest.raises(InputError) as caught:
        make(**options)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("make", "options", "message"),
    [
        (absa, {"ratio": 1}, "ratio must be a whole number of at least 2, got 1"),
        (absa, {"duration": 0}, "duration must be a whole number of at least 1, got 0"),
        (absa, {"scale_rate": 1}, "scale_rate must be True or False, got 1"),
        (absa, {"cyclical": "yes"}, "cyclical must be True or False, got 'yes'"),
        (gns, {"share": -1}, "share must be a finite number above 0, got -1"),
        (gns, {"smallest": 20}, "smallest must be at most base, which is 10, got 20"),
        (plateau, {"factor": 1}, "factor must be above 1, got 1"),
        (plateau, {"patience": -1}, "patience must be a whole number of at least 0, got -1"),
        (plateau, {"threshold": -1}, "threshold must be a finite number of at least 0, got -1"),
        (plateau, {"absolute": 1}, "absolute must be True or False, got 1"),
        (plateau, {"cooldown": 0.5}, "cooldown must be a whole number of at least 0, got 0.5"),
        (plateau, {"watch": "loss"}, "watch must be one of train_loss, validation, got 'loss'"),
        (auto, {"share": 0}, "share must be a finite number above 0, got 0"),
        (auto, {"settled": -1}, "settled must be a finite number of at least 0, got -1"),
        (auto, {"cycle": 3}, "cycle must be a whole number of at least 4, got 3"),
    ],
)
def test_options_that_no_rule_can_follow_are_refused(make, options, message):
    with pytest.raises(InputError) as caught:
        make(10, **options)
    assert str(caught.value) == message


def test_a_policy_of_ones_own_needs_a_rule():
    with pytest.raises(NotImplementedError):
        Policy(10).next([], OUTLOOK)


def test_what_is_left_counts_an_epoch_that_has_begun():
    assert OUTLOOK._replace(done=12.5).left == 27
