"""What the recipes say, literally, beside the paper."""

import pytest

from rebatch.recipes import DEMO, PAPER, RECIPES, STUDIES, case, find

LANGUAGE = {
    *("BL", "CBS-10", "CBS-5", "CBS-1", "CBS-10-A", "CBS-5-A", "CBS-1-A"),
    *("CBS-10-T", "CBS-5-T", "CBS-1-T"),
}


def test_there_is_a_recipe_for_every_model_and_data_set_of_the_paper():
    assert {(recipe.model, recipe.data) for recipe in PAPER} == {
        *((model, data) for model in ("L1", "L2", "L1'", "L2'") for data in ("ptb", "wikitext-2")),
        *((model, "cifar10") for model in ("C1", "C2", "C3", "C4")),
        ("I1", "imagenet"),
        ("E1", "snli"),
        ("E1", "multinli"),
    }
    assert (len(PAPER), len(STUDIES), len(RECIPES)) == (15, 4, 20)
    assert DEMO.name == "digits"


def test_every_recipe_and_schedule_makes_its_plan():
    plans = {
        (recipe.name, code): case(recipe, code).plan()
        for recipe in RECIPES.values()
        for code in recipe.schedules
    }
    assert len(plans) == 102
    assert sum(len(recipe.schedules) for recipe in PAPER) == 85
    for (name, _), plan in plans.items():
        assert plan.epochs == find(name).epochs


@pytest.mark.parametrize(
    ("name", "code", "updates"),
    [
        ("l1-ptb", "BL", 51_792),
        ("l1-ptb", "CBS-10", 49_468),
        ("l1-wikitext2", "CBS-1-T", 104_440),
        ("l2-ptb", "CBS-10", 83_000),
        ("l2-wikitext2", "CBS-5-A", 118_435),
        ("l1p-ptb", "CBS-1-A", 35_238),
        ("l1p-wikitext2", "BL", 116_376),
        ("l2p-ptb", "CBS-10-A", 65_160),
        ("l2p-wikitext2", "CBS-1-A", 110_884),
        ("c1-cifar10", "CBS-5-3-A", 15_420),
        ("c2-cifar10", "CBS-15", 39_875),
        ("c3-cifar10", "CBS-15-2", 47_935),
        ("c4-cifar10", "BL", 120_000),
        ("c4-cifar10", "CBS-15", 56_280),
        ("i1-imagenet", "BL", 450_450),
        ("i1-imagenet", "CBS-10-3", 262_800),
        ("e1-multinli", "CBS-2-A", 57_142),
        ("e1-snli", "CBS-1", 90_132),
        ("c1-initialization", "CBS-10-3", 20_550),
        ("c2-adversarial", "CBS-15", 39_875),
        ("e1-sick", "BL", 1_410),
        ("e1-snli-dev", "BL", 3_080),
        ("digits", "CBS-5", 1_700),
    ],
)
def test_updates_are_those_of_the_paper(name, code, updates):
    assert case(find(name), code).plan().updates == updates


@pytest.mark.parametrize(
    ("name", "sizes", "rates"),
    [
        ("l1-ptb", (20, 10), (20.0, 20.0)),
        ("l2-wikitext2", (20, 10), (20.0, 20.0)),
        ("l2p-ptb", (20, 10), (20.0, 20.0)),
        ("c1-cifar10", (128, 128), (0.02, 0.05)),
        ("c2-cifar10", (128, 128), (0.1, 0.1)),
        ("c3-cifar10", (128, 128), (0.1, 0.05)),
        ("c4-cifar10", (100, 100), (0.1, 0.1)),
        ("i1-imagenet", (256, 256), (0.1, 0.1)),
        ("e1-snli", (32, 32), (4e-4, 4e-4)),
    ],
)
def test_baseline_and_cycles_have_batch_sizes_and_rates_of_their_own(name, sizes, rates):
    recipe = find(name)
    baseline, cycles = case(recipe, "BL"), case(recipe, "CBS-5")
    assert (baseline.plan().base, cycles.plan().base) == sizes
    assert (baseline.rate_at(0, []), cycles.rate_at(0, [])) == rates


@pytest.mark.parametrize(
    ("name", "code", "epoch", "rate"),
    [
        ("l1-ptb", "BL", 5.99, 20.0),
        ("l1-ptb", "CBS-10", 6, 20 / 1.2),
        ("l1-ptb", "CBS-10", 38.5, 20 / 1.2**33),
        ("l2-ptb", "BL", 14, 20 / 1.15),
        ("l2-ptb", "BL", 54, 20 / 1.15**41),
        ("c1-cifar10", "BL", 30, 0.004),
        ("c1-cifar10", "CBS-5-3", 60, 0.002),
        ("c2-cifar10", "CBS-15", 180, 0.0008),
        ("c3-cifar10", "BL", 120, 0.004),
        ("c4-cifar10", "BL", 225, 0.001),
        ("i1-imagenet", "CBS-10-3", 80, 0.0001),
        ("e1-snli", "CBS-1", 9.9, 4e-4),
    ],
)
def test_rates_fall_when_the_paper_says(name, code, epoch, rate):
    assert case(find(name), code).rate_at(epoch, []) == pytest.approx(rate, rel=1e-12)


def test_settings_of_the_paper():
    values = {
        "l1-ptb": {"epochs": 39, "clip": 0.25, "dropout": 0.5, "hidden": 650, "bptt": 35},
        "l2-ptb": {"epochs": 55, "clip": 0.5, "dropout": 0.65, "hidden": 1500},
        "l1p-ptb": {"dropout": 0.2, "clip": 0.25},
        "l2p-wikitext2": {"dropout": 0.3, "clip": 0.5},
        "c1-cifar10": {"epochs": 90, "momentum": 0.9, "weight_decay": 5e-4, "nesterov": False},
        "c2-cifar10": {"epochs": 200, "initialization": "msra", "augment": "zero"},
        "c3-cifar10": {"epochs": 160, "shortcut": "B", "initialization": "msra"},
        "c4-cifar10": {"epochs": 240, "momentum": 0.0, "weight_decay": 0.0, "augment": "none"},
        "i1-imagenet": {"epochs": 90, "momentum": 0.9, "weight_decay": 1e-4},
        "e1-snli": {"epochs": 10, "optimizer": "adam", "hidden": 300, "clip": None},
        "c1-initialization": {"initialization": "gaussian-0.1"},
        "c2-adversarial": {
            "adversarial_share": 0.2,
            "adversarial_epsilon": 0.005,
            "adversarial_window": 0.5,
        },
    }
    for name, fields in values.items():
        assert {field: getattr(find(name), field) for field in fields} == fields


def test_schedules_are_those_of_the_tables():
    assert set(find("l1-ptb").schedules) == set(find("l2-wikitext2").schedules) == LANGUAGE
    assert find("l1p-ptb").schedules == ("BL", "CBS-10-A", "CBS-5-A", "CBS-1-A")
    assert find("e1-multinli").schedules == ("BL", "CBS-1", "CBS-2", "CBS-1-A", "CBS-2-A")
    assert find("c2-cifar10").schedules == ("BL", "CBS-15", "CBS-10-3", "CBS-5-3", "CBS-5-3-A")
    assert find("c3-cifar10").schedules == ("BL", "CBS-10", "CBS-5-3", "CBS-15-2", "CBS-15-2-A")


def test_an_unknown_recipe_is_answered_with_the_nearest():
    from rebatch.errors import InputError

    with pytest.raises(InputError, match=r"^recipe must be one of l1-ptb, .*, got 'l1_ptb'; did "):
        find("l1_ptb")
    with pytest.raises(InputError, match=r"did you mean c3-cifar10\?$"):
        find("C3-CIFAR")
