import json
from dataclasses import replace

import pytest

from rebatch.errors import InputError
from rebatch.rates import constant, divided
from rebatch.recipes import RECIPES, Recipe, find, override


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_survives_json(name):
    recipe = find(name)
    assert Recipe.from_dict(json.loads(json.dumps(recipe.to_dict()))) == recipe


@pytest.mark.parametrize(
    ("name", "setting", "field", "value"),
    [
        ("l1-ptb", "epochs=3", "epochs", 3),
        ("l1-ptb", " epochs = 3 ", "epochs", 3),
        ("l1-ptb", "clip=none", "clip", None),
        ("l1-ptb", "clip=1", "clip", 1.0),
        ("l1-ptb", "dropout=0", "dropout", 0.0),
        ("l1-ptb", "micro_batch_size=5", "micro_batch_size", 5),
        ("c1-cifar10", "weight_decay=1e-4", "weight_decay", 1e-4),
        ("c1-cifar10", "nesterov=true", "nesterov", True),
        ("c1-cifar10", "drop_last=True", "drop_last", True),
        ("c1-cifar10", "data=cifar100", "data", "cifar100"),
        ("c1-cifar10", "augment=none", "augment", "none"),
        ("c1-cifar10", "baseline_rate=0.5", "baseline_rate", constant(0.5)),
        (
            "c1-cifar10",
            "cyclical_rate=divided(0.1, at=(30, 60), by=10)",
            "cyclical_rate",
            divided(0.1, at=(30, 60), by=10),
        ),
        ("c1-cifar10", "snapshot_epochs=30, 60", "snapshot_epochs", (30, 60)),
        ("c1-cifar10", "initialization=gaussian-0.01", "initialization", "gaussian-0.01"),
        ("l2-ptb", "initialization=uniform-0.04", "initialization", "uniform-0.04"),
        ("c3-cifar10", "shortcut=A", "shortcut", "A"),
        ("c4-cifar10", "loss=squared-error", "loss", "squared-error"),
        ("e1-snli", "held_out=[['test', 'test']]", "held_out", (("test", "test"),)),
    ],
)
def test_a_field_is_set_by_its_text(name, setting, field, value):
    changed = override(find(name), [setting])
    assert getattr(changed, field) == value
    assert type(getattr(changed, field)) is type(value)
    assert replace(changed, **{field: getattr(find(name), field)}) == find(name)


@pytest.mark.parametrize(
    ("name", "setting", "complaint"),
    [
        ("l1-ptb", "epochs", "--set must be field=value, got 'epochs'"),
        (
            "l1-ptb",
            "epoch=3",
            "field must be one of the recipe's, got 'epoch'; did you mean epochs?",
        ),
        ("l1-ptb", "zzz=3", "field must be one of the recipe's, got 'zzz'"),
        ("l1-ptb", "epochs=x", "epochs must be a whole number, got 'x'"),
        ("l1-ptb", "epochs=2.5", "epochs must be a whole number, got 2.5"),
        ("l1-ptb", "epochs=True", "epochs must be a whole number, got True"),
        ("l1-ptb", "epochs=0", "epochs must be a whole number of at least 1, got 0"),
        ("l1-ptb", "data=cifar10", "data must be one of ptb, wikitext-2, got 'cifar10'"),
        ("c1-cifar10", "data=ptb", "data must be one of cifar10, cifar100, got 'ptb'"),
        ("c1-cifar10", "model=C9", "model must be one of L1, L2, L1', L2', C1, C2, C3, C4, I1, E1"),
        ("l1-ptb", "clip=True", "clip must be a number or none, got True"),
        ("l1-ptb", "clip=-1", "clip must be a finite number above 0, got -1.0"),
        (
            "l1-ptb",
            "micro_batch_size=1.5",
            "micro_batch_size must be a whole number or none, got 1.5",
        ),
        ("l1-ptb", "shortcut=A", "field must be one that L1 looks at, got 'shortcut'"),
        (
            "l1-ptb",
            "initialization=xavier",
            "initialization must be one of default, uniform-BOUND, got 'xavier'",
        ),
        (
            "l1-ptb",
            "initialization=uniform-0",
            "initialization must be one of default, uniform-BOUND, got 'uniform-0'",
        ),
        (
            "c1-cifar10",
            "initialization=uniform-0.1",
            "initialization must be one of default, xavier, msra, orthogonal, lsuv, gaussian-SIGMA",
        ),
        ("e1-snli", "initialization=msra", "field must be one that E1 looks at"),
        ("l1-ptb", "holdout=10", "field must be one that L1 looks at, got 'holdout'"),
        (
            "l1-ptb",
            "precision=fp8",
            "precision must be one of auto, fp32, tf32, bf16, fp64, got 'fp8'",
        ),
        ("c1-cifar10", "dropout=0.5", "field must be one that C1 looks at, got 'dropout'"),
        ("c1-cifar10", "nesterov=1", "nesterov must be true or false, got 1"),
        ("c1-cifar10", "momentum=1", "momentum must be below 1, got 1.0"),
        ("c1-cifar10", "optimizer=adam", "momentum must be 0 with adam, got 0.9"),
        ("c4-cifar10", "nesterov=true", "nesterov must go with a momentum above 0, got momentum 0"),
        ("c1-cifar10", "holdout=-1", "holdout must be a whole number of at least 0, got -1"),
        (
            "c1-cifar10",
            "snapshot_epochs=3",
            "snapshot_epochs must be a tuple such as (10,), got 3",
        ),
        ("c1-cifar10", "baseline_rate=(1,2)", "baseline_rate must be a rate, got (1, 2)"),
        ("c1-cifar10", "augment=some", "augment must be one of none, zero, reflect, got 'some'"),
        ("e1-snli", "held_out=(('a',),)", "held_out must be a tuple such as (('a', 'a'),), got"),
        ("e1-snli", "held_out=()", "held_out must name at least one split, got none"),
        (
            "c2-adversarial",
            "adversarial_epsilon=0",
            "adversarial_epsilon must be a finite number above 0, got 0.0",
        ),
        ("c1-cifar10", "name=c2-cifar10", "field must be one that C1 looks at, got 'name'"),
        (
            "c2-adversarial",
            "adversarial_share=2",
            "adversarial_share must be between 0 and 1, got 2",
        ),
        (
            "c2-adversarial",
            "adversarial_window=-1",
            "adversarial_window must be between 0 and 1, got -1",
        ),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(name, setting, complaint):
    with pytest.raises(InputError) as error:
        override(find(name), [setting])
    assert str(error.value).startswith(complaint)


def test_a_rate_that_cannot_be_read_is_refused():
    with pytest.raises(InputError, match=r"^rate must be a number or a call such as divided"):
        override(find("l1-ptb"), ["baseline_rate=fast"])


def test_settings_of_another_program_are_refused():
    with pytest.raises(InputError, match="field must be one of the recipe's, got 'colour'"):
        Recipe.from_dict({**find("l1-ptb").to_dict(), "colour": 1})
    with pytest.raises(InputError, match="recipe must have the fields of a recipe"):
        Recipe.from_dict({"name": "l1-ptb"})


def test_who_has_validation_and_who_has_only_a_test_set():
    with_it = {name for name, recipe in RECIPES.items() if recipe.has_validation}
    assert set(RECIPES) - with_it == {
        *("c1-cifar10", "c2-cifar10", "c3-cifar10", "c4-cifar10"),
        *("c1-initialization", "c2-adversarial", "e1-snli-dev", "digits"),
    }
