import pytest

from rebatch.errors import InputError
from rebatch.probe import design
from rebatch.recipes import find, override

DIGITS = find("digits")


def test_the_sizes_are_doublings_of_the_base_up_to_the_largest():
    assert design(DIGITS, largest=100).sizes == (16, 32, 64)
    assert design(DIGITS, largest=64).sizes == (16, 32, 64)


def test_what_is_not_chosen_comes_from_the_recipe():
    made = design(find("l1-ptb"))
    assert (made.base, made.warm_up, made.length, made.repeats, made.rule) == (10, 4, 1, 3, "sqrt")
    assert made.sizes == (10, 20, 40, 80, 160, 320)


def test_a_branch_has_eight_updates_unless_told_otherwise():
    assert design(DIGITS).sizes[-1] == 128  # 12 updates an epoch of 1,437 digits; at 256, 6
    assert design(DIGITS, length=2).sizes[-1] == 256


def test_the_cost_counts_warm_up_and_branches():
    cost = design(DIGITS, length=2).cost
    assert cost.updates == 4 * 90 + 3 * 2 * (90 + 45 + 23 + 12 + 6)
    assert cost.epochs == 4 + 3 * 5 * 2
    assert cost.samples == 34 * 1437


def test_the_cost_of_very_many_repeats_is_told_at_once():
    assert design(DIGITS, largest=32, repeats=10**12).cost.epochs == 4 + 2 * 10**12


@pytest.mark.parametrize(
    ("rule", "factors"),
    [("linear", [1, 2, 4]), ("sqrt", [1, 2**0.5, 2]), ("constant", [1, 1, 1])],
)
def test_the_rate_follows_the_batch_size_by_a_rule(rule, factors):
    made = design(DIGITS, largest=64, rule=rule)
    assert [made.factor(size) for size in made.sizes] == pytest.approx(factors)


def test_a_branch_changes_size_where_the_warm_up_ends():
    made = design(DIGITS, warm_up=3)
    rows = made.case(64).plan().rows
    assert [(row.batch_size, row.epochs) for row in rows] == [(16, 3), (64, 1)]
    assert [(row.batch_size, row.epochs) for row in made.case(16).plan().rows] == [(16, 4)]


def test_batch_norm_keeps_the_group_of_the_base():
    made = design(find("c1-cifar10"))
    assert made.case(4096).recipe.norm_batch_size == 128
    assert made.case_from_start(4096).recipe.norm_batch_size == 128
    own = override(find("c1-cifar10"), ["norm_batch_size=64"])
    assert design(own).case(256).recipe.norm_batch_size == 64


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"largest": 31}, "largest must be a whole number of at least 32, got 31"),
        ({"largest": 256}, "largest must give a branch at least 8 updates, got 6 with 256"),
        ({"repeats": 1}, "repeats must be a whole number of at least 2, got 1"),
        ({"warm_up": 0}, "warm-up must be a whole number of at least 1, got 0"),
        ({"rule": "cubic"}, "rate must be one of linear, sqrt, constant, got 'cubic'"),
    ],
)
def test_what_cannot_be_probed_is_refused(wrong, said):
    with pytest.raises(InputError, match=said):
        design(DIGITS, **wrong)


def test_attacks_are_refused_for_they_end_with_half_of_the_run():
    with pytest.raises(InputError, match="adversarial_share must be 0"):
        design(override(DIGITS, ["adversarial_share=0.2"]))
