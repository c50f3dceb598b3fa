import pytest

from rebatch.data.sets import find as find_set
from rebatch.errors import InputError
from rebatch.recipes import amount, find, override
from rebatch.recipes._sizes import ALSO, EXAMPLES


def test_every_data_set_has_its_official_size():
    assert amount(find("l1-ptb")) == {"tokens": 929_589, "bptt": 35}
    assert amount(find("l2-wikitext2")) == {"tokens": 2_088_628, "bptt": 35}
    assert amount(find("c1-cifar10")) == {"examples": 50_000, "drop_last": False}
    assert amount(find("i1-imagenet"))["examples"] == 1_281_167
    assert amount(find("e1-snli"))["examples"] == 549_367
    assert amount(find("e1-snli-dev"))["examples"] == 9_842
    assert amount(find("e1-multinli"))["examples"] == 392_702
    assert amount(find("e1-sick"))["examples"] == 4_500
    assert amount(find("digits"))["examples"] == 1_437


def test_a_data_set_of_two_official_sizes_has_them_in_its_two_layouts():
    fetched, planned = find_set("sick").layouts
    assert (planned.counts["train"], fetched.counts["train"]) == (4_500, 4_439)
    assert EXAMPLES["sick", "train"] == planned.counts["train"]
    assert ALSO["sick", "train"][-1] == fetched.counts["train"]


def test_settings_change_the_amount():
    recipe = override(find("c1-cifar10"), ["holdout=5000", "drop_last=true"])
    assert amount(recipe) == {"examples": 45_000, "drop_last": True}


def test_a_split_that_nobody_has_counted_is_refused():
    with pytest.raises(InputError, match=r"known size, got 'snli' \(test\)$"):
        amount(override(find("e1-snli"), ["train_split=test"]))
