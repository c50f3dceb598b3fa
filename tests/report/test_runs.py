from pathlib import Path

import pytest

from rebatch.errors import InputError, RunError
from rebatch.records import LineLog, write_json
from rebatch.report._runs import headline, read_groups, spread


def write_run(root: Path, name: str, **values) -> None:
    result = {
        "recipe": "c1-cifar10",
        "schedule": "BL",
        "seed": 0,
        "variant": None,
        "overrides": [],
        "updates": 100,
        "final": {"test_accuracy": 86.0},
        "ensemble": None,
        **values,
    }
    write_json(root / name / "run.json", {})
    write_json(root / name / "result.json", result)


def test_runs_that_differ_in_their_seed_alone_are_one_group(tmp_path):
    write_run(tmp_path, "x", seed=1, final={"test_accuracy": 87.0})
    write_run(tmp_path, "y", seed=0)
    write_run(tmp_path, "z", schedule="CBS-5-3")
    write_run(tmp_path, "v", variant="plateau")
    write_run(tmp_path, "o", overrides=["epochs=3"])
    groups = read_groups(tmp_path)
    assert [group.name for group in groups] == ["BL", "CBS-5-3", "BL (epochs=3)", "BL (plateau)"]
    assert groups[0].values("final", "test_accuracy") == [86.0, 87.0]
    assert groups[0].values("ensemble", "test_accuracy") == []
    assert [run.result["seed"] for run in groups[0].runs] == [0, 1]


def test_seconds_of_several_devices_are_no_mean(tmp_path):
    write_run(tmp_path, "x", seconds=10.0, device="one")
    write_run(tmp_path, "y", seed=1, seconds=20.0, device="one")
    assert read_groups(tmp_path)[0].seconds == 15.0
    write_run(tmp_path, "z", seed=2, seconds=900.0, device="another")
    assert read_groups(tmp_path)[0].seconds is None


def test_an_ensemble_of_one_is_none(tmp_path):
    write_run(tmp_path, "x", ensemble={"members": ["cycle-000"], "test_accuracy": 80.0})
    more = {"members": ["cycle-000", "final"], "test_accuracy": 88.0}
    write_run(tmp_path, "y", seed=1, ensemble=more)
    (group,) = read_groups(tmp_path)
    assert group.values("ensemble", "test_accuracy") == [88.0]


def test_the_baseline_comes_first_and_short_names_before_long_ones(tmp_path):
    for number, code in enumerate(("AUTO", "CBS-10-3", "CBS-5", "BL", "CBS-5-3-A")):
        write_run(tmp_path, str(number), schedule=code)
    names = [group.schedule for group in read_groups(tmp_path)]
    assert names == ["BL", "CBS-5", "CBS-10-3", "CBS-5-3-A", "AUTO"]


def test_unfinished_runs_are_left_out(tmp_path):
    write_json(tmp_path / "a" / "run.json", {"status": "running"})
    with pytest.raises(InputError, match=r"folder must hold at least one finished run"):
        read_groups(tmp_path)


@pytest.mark.parametrize("name", ["recipe", "schedule", "seed", "updates", "final"])
def test_a_result_of_another_program_is_named(tmp_path, name):
    write_run(tmp_path, "a")
    result = {"recipe": "x", "schedule": "BL", "seed": 0, "updates": 1, "final": {}}
    result.pop(name)
    write_json(tmp_path / "a" / "result.json", result)
    with pytest.raises(RunError, match=rf"is not the result of a run: it has no '{name}'$"):
        read_groups(tmp_path)


def test_epochs_are_the_lines_of_their_kind(tmp_path):
    write_run(tmp_path, "a")
    with LineLog(tmp_path / "a" / "metrics.jsonl") as log:
        for kind, epoch in (("updates", 0), ("epoch", 0), ("note", 0), ("epoch", 1)):
            place = {"epoch": epoch, "update": 3, "cycle": 0, "batch_size": 8}
            log.write({"kind": kind, **place, "train_loss": "x", "test_accuracy": 90})
    (run,) = read_groups(tmp_path)[0].runs
    assert [line["epoch"] for line in run.epochs] == [0, 1]
    assert (run.epochs[0]["train_loss"], run.epochs[0]["test_accuracy"]) == (None, 90.0)


def test_the_line_of_an_epoch_without_its_place_is_named(tmp_path):
    write_run(tmp_path, "a")
    with LineLog(tmp_path / "a" / "metrics.jsonl") as log:
        log.write({"kind": "epoch", "epoch": 0, "update": "x", "cycle": 0, "batch_size": 8})
    (run,) = read_groups(tmp_path)[0].runs
    with pytest.raises(RunError, match=r"not the log of a run: the update of an epoch is 'x'$"):
        run.epochs  # noqa: B018


@pytest.mark.parametrize(
    ("name", "value"),
    [("recipe", 1), ("seed", "0"), ("updates", 0), ("final", {}), ("overrides", [1]), ("best", 1)],
)
def test_a_result_with_a_wrong_field_is_named(tmp_path, name, value):
    write_run(tmp_path, "a", **{name: value})
    with pytest.raises(RunError, match=rf"is not the result of a run: its {name} is "):
        read_groups(tmp_path)


def test_the_headline_is_what_the_paper_reports(tmp_path):
    write_run(tmp_path, "a", final={"valid_perplexity": 85.0, "test_perplexity": 80.0})
    assert headline(read_groups(tmp_path)) == "test_perplexity"
    write_run(tmp_path, "a", final={"train_loss": 1.0, "validation_accuracy": 72.0})
    assert headline(read_groups(tmp_path)) == "validation_accuracy"


def test_a_mean_is_written_with_its_deviation():
    assert spread([82.52, 82.42, 82.57]) == "82.50 ± 0.08"
    assert spread([80.0]) == "80.00"
    assert spread([]) == "–"
