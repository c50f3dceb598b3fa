"""Every recipe, trained for a few updates on small data in the official formats."""

import math

import pytest
from safetensors.torch import load_file

from rebatch.recipes import RECIPES
from rebatch.records import RunFolder, read_json, read_lines

LANGUAGE = {
    *("valid_loss", "valid_perplexity", "test_loss", "test_perplexity"),
    *("train_loss", "train_perplexity"),
}
CLASSES = {"train_loss", "train_accuracy", "test_loss", "test_accuracy"}
PAIRS = CLASSES | {"validation_loss", "validation_accuracy"}
METRICS = {
    "L": LANGUAGE,
    "C": CLASSES,
    "demo": CLASSES,
    "I": {"train_loss", "train_accuracy", "validation_loss", "validation_accuracy"},
    "e1-snli": PAIRS,
    "e1-sick": PAIRS,
    "e1-snli-dev": CLASSES,
    "e1-multinli": {
        *("train_loss", "train_accuracy", "validation_loss", "validation_accuracy"),
        *("validation_matched_loss", "validation_matched_accuracy"),
        *("validation_mismatched_loss", "validation_mismatched_accuracy"),
    },
}


def expected_metrics(name: str) -> set[str]:
    recipe = RECIPES[name]
    return METRICS.get(name) or next(
        found for prefix, found in METRICS.items() if recipe.model.startswith(prefix)
    )


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_trains_and_its_loss_falls(train, tmp_path, name):
    epochs = 1 if name == "i1-imagenet" else 2
    result = train(name, "CBS-1-2", f"epochs={epochs}")
    folder = RunFolder(tmp_path / "run")
    assert read_json(folder.result) == result
    assert set(result["final"]) == expected_metrics(name)
    assert all(map(math.isfinite, result["final"].values()))
    lines = [line for line in read_lines(folder.metrics) if line["kind"] == "epoch"]
    assert [line["epoch"] for line in lines] == list(range(epochs))
    assert result["updates"] == lines[-1]["update"]
    assert load_file(folder.snapshots / "final.safetensors")
    assert read_json(folder.run)["status"] == "finished"
    if epochs == 2:
        assert lines[1]["train_loss"] < lines[0]["train_loss"]
        assert lines[1]["batch_size"] == 2 * lines[0]["batch_size"]
        assert result["ensemble"]["members"] == ["cycle-000"]


def test_the_recipes_are_twenty():
    assert len(RECIPES) == 20


@pytest.mark.parametrize("name", ["l1-ptb", "c3-cifar10", "e1-snli", "digits"])
def test_mixed_precision_ends_near_full_precision(train, tmp_path, name):
    rough = train(name, "BL", "epochs=1", "precision=bf16", out=tmp_path / "rough")
    exact = train(name, "BL", "epochs=1", "precision=fp32", out=tmp_path / "exact")
    losses = [result["final"]["train_loss"] for result in (rough, exact)]
    assert losses[0] != losses[1]
    assert losses[0] == pytest.approx(losses[1], rel=0.05)
