import pytest

from rebatch.errors import InputError
from rebatch.recipes import VARIANTS, case, find, override


def test_the_plain_case_has_no_variant():
    made = case(find("l1-ptb"), " cbs-10 ")
    assert (made.code, made.variant) == ("CBS-10", None)
    assert case(find("l1-ptb"), "bl").plan().base == 20


def test_any_schedule_may_be_asked_for():
    made = case(find("l1-ptb"), "linear(10, 80, length=8)")
    assert made.plan().sizes[:3] == (10, 19, 28)
    assert made.rate_at(0, []) == 20.0


def test_the_base_batch_stays_with_the_rate_of_the_baseline():
    made = case(find("c3-cifar10"), "BL", "base-batch")
    assert made.plan().sizes == (128,)
    assert made.rate_at(0, []) == 0.1
    made = case(find("l1-ptb"), "BL", "base-batch")
    assert (made.plan().sizes, made.plan().updates) == ((10,), 103_584)
    assert (made.code, made.variant) == ("BL", "base-batch")


def test_equal_noise_divides_the_rate_where_the_batch_would_grow():
    made = case(find("l1-ptb"), "CBS-10", "equal-noise")
    assert made.plan().sizes == (10,)
    assert [made.rate_at(epoch, []) for epoch in (0, 5.5)] == [20.0, 20.0]
    assert made.rate_at(10, []) == pytest.approx(20 / 1.2**5 / 2)
    assert made.rate_at(30, []) == pytest.approx(20 / 1.2**25 / 8)
    made = case(find("c1-cifar10"), "CBS-10-3", "equal-noise")
    rates = [made.rate_at(epoch, []) for epoch in (0, 10, 20, 30, 89)]
    assert rates == pytest.approx([0.05, 0.025, 0.0125, 0.01, 0.0005])


def test_equal_updates_keeps_the_batch_that_costs_as_much():
    made = case(find("l1-ptb"), "CBS-10", "equal-updates")
    assert made.plan().sizes == (21,)
    assert abs(made.plan().updates - 49_468) < 300
    made = case(find("c1-cifar10"), "CBS-5-3", "equal-updates")
    assert made.plan().sizes == (220,)
    assert abs(made.plan().updates - 20_550) < 50
    assert made.rate_at(0, []) == 0.05


def test_a_plateau_divides_by_four_when_validation_stalls():
    made = case(find("l1-ptb"), "BL", "plateau")
    assert made.plan().sizes == (20,)
    assert made.rate_at(3, [90.0, 85.0, 84.0]) == 20.0
    assert made.rate_at(4, [90.0, 85.0, 84.0, 84.5]) == 5.0
    assert made.rate_at(5, [90.0, 85.0, 84.0, 84.5, 84.0]) == 1.25
    rising = case(find("e1-snli"), "BL", "plateau")
    assert rising.rate_at(2, [60.0, 70.0]) == 4e-4
    assert rising.rate_at(2, [70.0, 60.0]) == 1e-4


@pytest.mark.parametrize("name", ["c1-cifar10", "digits", "e1-snli-dev"])
def test_a_plateau_never_looks_at_the_test_set(name):
    with pytest.raises(InputError, match=r"holdout must be above 0 for plateau"):
        case(find(name), "BL", "plateau")


def test_a_plateau_that_is_set_by_hand_never_looks_at_the_test_set_either():
    recipe = override(find("digits"), ["baseline_rate=plateau(0.3, falling=False)"])
    with pytest.raises(InputError, match=r"holdout must be above 0 for plateau"):
        case(recipe, "BL")
    assert case(override(recipe, ["holdout=100"]), "BL").rate_at(1, [50.0, 40.0]) == 0.075


@pytest.mark.parametrize(
    ("name", "rate", "message"),
    [
        ("e1-snli", "plateau(4e-4)", "falling must be False for accuracy, got True"),
        ("l1-ptb", "plateau(20, falling=False)", "falling must be True for perplexity, got False"),
    ],
)
def test_a_plateau_takes_no_better_figure_for_a_worse_one(name, rate, message):
    with pytest.raises(InputError, match=message):
        case(override(find(name), [f"baseline_rate={rate}"]), "BL")


def test_a_plateau_may_look_at_a_holdout():
    recipe = override(find("c1-cifar10"), ["holdout=5000"])
    assert case(recipe, "BL", "plateau").rate_at(1, [50.0, 40.0]) == 0.005
    assert case(recipe, "BL").plan().examples == 45_000


def test_the_cases_of_the_initialisation_study_and_their_fair_baselines():
    recipe = find("c1-initialization")
    for code in ("CBS-10-3", "BL"):
        constant = case(recipe, code, "constant-rate")
        assert [constant.rate_at(epoch, []) for epoch in (0, 30, 89)] == [0.05, 0.05, 0.05]
        once = case(recipe, code, "divided-at-75")
        assert [once.rate_at(epoch, []) for epoch in (0, 74.9, 75, 89)] == [0.05, 0.05, 0.01, 0.01]
    assert case(recipe, "CBS-10-3", "constant-rate").plan().sizes == (128, 256, 512)
    assert case(recipe, "BL", "constant-rate").plan().sizes == (128,)


def test_a_baseline_takes_its_snapshots_where_cycles_end():
    made = case(find("l1-ptb"), "BL", "snapshots-as-CBS-5")
    assert made.recipe.snapshot_epochs == (20,)
    made = case(find("c3-cifar10"), "BL", "snapshots-as-CBS-15-2")
    assert made.recipe.snapshot_epochs == (30, 60, 90, 120, 150)
    assert made.plan().sizes == (128,)
    with pytest.raises(InputError, match=r"with a cycle that ends, got 'CBS-10-A'$"):
        case(find("l1-ptb"), "BL", "snapshots-as-CBS-10-A")
    with pytest.raises(InputError):
        case(find("l1-ptb"), "BL", "snapshots-as-nonsense")


def test_snapshots_and_batch_norm_have_variants():
    made = case(find("c2-cifar10"), "CBS-15", "step-snapshots")
    assert made.recipe.snapshot_at == "step-end"
    assert case(find("c2-cifar10"), "CBS-15", "whole-batch-norm").recipe.norm_batch_size == 0


def test_variants_are_eight_and_an_unknown_one_is_answered_with_their_names():
    assert len(VARIANTS) == 8
    with pytest.raises(InputError, match=r"^variant must be one of base-batch, .*got 'xyz'$"):
        case(find("l1-ptb"), "CBS-10", "xyz")
    with pytest.raises(InputError, match=r"got 'equal-noize'; did you mean equal-noise\?$"):
        case(find("l1-ptb"), "CBS-10", "equal-noize")


def test_making_a_case_of_a_case_changes_nothing():
    for variant in (*(set(VARIANTS) - {"plateau"}), "snapshots-as-CBS-5-3"):
        made = case(find("c1-cifar10"), "CBS-10-3", variant)
        assert case(made.recipe, made.code, variant) == made
