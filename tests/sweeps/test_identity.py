import pytest

from rebatch.errors import InputError
from rebatch.sweeps import Identity, identities


def test_a_folder_is_named_by_what_the_run_is():
    run = Identity("c3-cifar10", "BL", 2, "plateau", ("holdout=5000", "shortcut=A"))
    assert str(run.folder) == "c3-cifar10/BL--plateau--holdout-5000--shortcut-A/seed2"


def test_no_change_leads_out_of_the_folder():
    run = Identity("digits", "BL", 0, None, ("precision=../../x",))
    assert str(run.folder) == "digits/BL--precision-..-..-x/seed0"


def test_a_record_gives_the_identity_back():
    record = {
        "recipe": "digits",
        "schedule": "BL",
        "seed": 1,
        "variant": None,
        "overrides": ["a=1"],
    }
    assert Identity.of(record | {"updates": 3}) == Identity("digits", "BL", 1, None, ("a=1",))


def test_every_combination_is_there_seed_by_seed():
    runs = identities("digits", ["BL", "CBS-5"], [0, 1], [None, "equal-noise"], ["epochs=2"])
    assert [run.label for run in runs] == [
        "digits BL epochs=2 seed 0",
        "digits BL equal-noise epochs=2 seed 0",
        "digits CBS-5 epochs=2 seed 0",
        "digits CBS-5 equal-noise epochs=2 seed 0",
        "digits BL epochs=2 seed 1",
        "digits BL equal-noise epochs=2 seed 1",
        "digits CBS-5 epochs=2 seed 1",
        "digits CBS-5 equal-noise epochs=2 seed 1",
    ]


def test_two_ways_to_write_a_schedule_are_one_run():
    runs = identities("digits", ["CBS-5", "cbs-5-4"], [0])
    assert [run.schedule for run in runs] == ["CBS-5"]


def test_changes_are_sorted_and_trimmed_as_the_run_writes_them():
    (run,) = identities("digits", ["BL"], [0], overrides=["hidden = 8", "epochs=2"])
    assert run.overrides == ("epochs=2", "hidden=8")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("digit", ["BL"], [0]), "recipe must be one of"),
        (("digits", ["BL-3"], [0]), "BL-3"),
        (("digits", ["BL"], [-1]), "seed must be a whole number of at least 0, got -1"),
        (("digits", ["BL"], [0], ["other"]), "variant must be one of"),
        (("digits", ["BL"], [0], [None], ["epoch=3"]), "field must be one of the recipe's"),
    ],
)
def test_what_cannot_be_run_is_refused_before_anything_starts(arguments, complaint):
    with pytest.raises(InputError, match=complaint):
        identities(*arguments)
