import os
import signal
from pathlib import Path

import pytest
import torch

from rebatch.engine.stopping import Stopped
from rebatch.errors import InputError, RunError
from rebatch.recipes import case, find
from rebatch.recipes._run import describe
from rebatch.records import RunFolder, read_json, read_lines


def files(out: Path) -> set[str]:
    return {path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file()}


def stop_at(update):
    def follow(plan):
        def watch(progress, rate):
            if progress.update == update:
                os.kill(os.getpid(), signal.SIGTERM)

        return watch

    return follow


def without_clock(value):
    if isinstance(value, dict):
        return {name: without_clock(item) for name, item in value.items() if name != "seconds"}
    return [without_clock(item) for item in value] if isinstance(value, list) else value


def log(out: Path):
    return without_clock(list(read_lines(RunFolder(out).metrics)))


def test_a_finished_folder_holds_what_the_design_names(train, tmp_path):
    result = train("l1-ptb", "CBS-1-2", "epochs=4")
    out = tmp_path / "run"
    assert files(out) == {
        *("run.json", "metrics.jsonl", "result.json"),
        *(f"snapshots/{name}.safetensors" for name in ("cycle-000", "cycle-001", "final")),
    }
    assert list(result) == [
        *("recipe", "schedule", "seed", "variant", "overrides", "updates", "seconds", "device"),
        *("final", "best", "best_on_test", "ensemble"),
    ]
    assert (result["recipe"], result["schedule"]) == ("l1-ptb", "CBS-1-2")
    assert (result["seed"], result["variant"]) == (0, None)
    assert result["overrides"] == sorted(
        [
            *("hidden=8", "baseline_batch_size=4", "cyclical_batch_size=2", "log_every=5"),
            *("baseline_rate=4", "cyclical_rate=4", "epochs=4"),
        ]
    )
    run = read_json(out / "run.json")
    assert set(run) >= {
        *("recipe", "schedule", "seed", "variant", "overrides", "settings", "status"),
        *("device", "device_name", "rebatch", "torch", "python", "started", "ranks"),
    }
    assert run["settings"]["hidden"] == 8


def test_best_is_by_validation_and_best_on_test_is_apart(train, tmp_path):
    result = train("l1-ptb", "BL", "epochs=3")
    best = result["best"]
    lines = [line for line in log(tmp_path / "run") if line["kind"] == "epoch"]
    values = [line["valid_perplexity"] for line in lines]
    assert (best["by"], best["optimistic"]) == ("valid_perplexity", False)
    assert best["epoch"] == values.index(min(values))
    assert best["test_perplexity"] == lines[best["epoch"]]["test_perplexity"]
    assert result["best_on_test"]["test_perplexity"] == min(x["test_perplexity"] for x in lines)
    assert result["final"]["test_perplexity"] == lines[-1]["test_perplexity"]
    assert result["ensemble"] is None


def test_best_is_marked_where_only_the_test_set_can_pick_it(train):
    assert train("c4-cifar10", "BL", "epochs=1")["best"]["optimistic"] is True


def test_the_training_accuracy_of_c4_stands_beside_its_test_accuracy(train):
    final = train("c4-cifar10", "BL", "epochs=1")["final"]
    assert 0 <= final["train_accuracy"] <= 100
    assert 0 <= final["test_accuracy"] <= 100


@pytest.mark.parametrize(
    ("name", "update"), [("l1-ptb", 3), ("l1-ptb", 17), ("c3-cifar10", 2), ("e1-snli", 9)]
)
def test_a_stopped_run_resumes_to_the_same_folder(train, tmp_path, name, update):
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    expected = train(name, "CBS-1-2", "epochs=2", out=whole)
    with pytest.raises(Stopped):
        train(name, "CBS-1-2", "epochs=2", out=parts, watch=stop_at(update))
    state = read_json(parts / "run.json")
    assert state["status"] == "interrupted"
    assert state["error"].startswith(f"stopped by SIGTERM after update {update}")
    result = train(name, "CBS-1-2", "epochs=2", out=parts, resume=True)
    assert without_clock(result) == without_clock(expected)
    assert log(parts) == log(whole)
    assert files(parts) == files(whole)
    for path in whole.rglob("*.safetensors"):
        assert path.read_bytes() == (parts / path.relative_to(whole)).read_bytes()
    state = read_json(parts / "run.json")
    assert state["status"] == "finished"
    assert "error" not in state


def test_the_same_seed_gives_the_same_result_and_another_one_another(train, tmp_path):
    one, two, other = (
        train("l1-ptb", "CBS-1-2", "epochs=2", out=tmp_path / name, seed=seed)
        for name, seed in (("one", 3), ("two", 3), ("other", 4))
    )
    assert without_clock(one) == without_clock(two)
    assert one["final"] != other["final"]


def test_a_finished_run_is_not_run_again(train, tmp_path):
    first = train("c4-cifar10", "BL", "epochs=1")
    before = (tmp_path / "run" / "metrics.jsonl").stat().st_mtime_ns
    assert train("c4-cifar10", "BL", "epochs=1", resume=True) == first
    assert (tmp_path / "run" / "metrics.jsonl").stat().st_mtime_ns == before


def test_resuming_what_never_began_begins_it(train):
    assert train("c4-cifar10", "BL", "epochs=1", resume=True)["updates"] == 5


def test_a_run_killed_before_its_first_checkpoint_begins_anew(train, tmp_path):
    expected = train("c4-cifar10", "BL", "epochs=1", out=tmp_path / "whole")
    train("c4-cifar10", "BL", "epochs=1")
    (tmp_path / "run" / "result.json").unlink()
    again = train("c4-cifar10", "BL", "epochs=1", resume=True)
    assert without_clock(again) == without_clock(expected)
    assert log(tmp_path / "run") == log(tmp_path / "whole")


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"name": "c1-cifar10"}, "recipe"),
        ({"code": "CBS-1-2"}, "schedule"),
        ({"seed": 1}, "seed"),
        ({"variant": "base-batch"}, "variant"),
        ({"more": ["epochs=2"]}, "overrides"),
    ],
)
def test_a_resume_of_something_else_is_refused_and_keeps_the_records(train, tmp_path, change, name):
    train("c4-cifar10", "BL", "epochs=1")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    given = {"name": "c4-cifar10", "code": "BL", "more": ["epochs=1"], **change}
    settings = {key: value for key, value in given.items() if key in ("seed", "variant")}
    with pytest.raises(InputError, match=rf"^out must hold the run to resume: its {name} (is|are)"):
        train(given["name"], given["code"], *given["more"], resume=True, **settings)
    with pytest.raises(InputError, match=r"^out must be a folder without a run, or use --resume"):
        train(given["name"], given["code"], *given["more"], **settings)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_records_without_a_run_are_left_alone(train, tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "metrics.jsonl").write_text("{}\n")
    with pytest.raises(InputError, match=r"^out must be a folder without records, got .*metrics"):
        train("c4-cifar10", "BL", "epochs=1")
    assert (tmp_path / "run" / "metrics.jsonl").read_text() == "{}\n"


def test_a_failed_run_says_why_in_its_record(train, tmp_path):
    with pytest.raises(RunError, match="no longer a finite number at epoch 0, update"):
        train("c4-cifar10", "BL", "epochs=2", "baseline_rate=1e30")
    state = read_json(tmp_path / "run" / "run.json")
    assert state["status"] == "failed"
    assert "no longer a finite number" in state["error"]
    assert not (tmp_path / "run" / "result.json").exists()


def test_missing_data_leaves_no_folder_behind(train, tmp_path):
    with pytest.raises(InputError, match=r"run: rebatch data get ptb"):
        train("l1-ptb", "BL", data_root=tmp_path / "empty")
    assert not (tmp_path / "run").exists()


def test_memory_that_runs_out_while_judging_is_said(train, tmp_path, monkeypatch):
    from rebatch.engine.images import ImageTask

    def evaluate(self, models, context):
        raise torch.cuda.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(ImageTask, "evaluate", evaluate)
    with pytest.raises(RunError, match=r"^memory does not suffice: CUDA out of memory"):
        train("c4-cifar10", "BL", "epochs=1")
    assert read_json(tmp_path / "run" / "run.json")["status"] == "failed"


def test_a_model_that_memory_does_not_hold_is_said(train, tmp_path):
    with pytest.raises(RunError, match=r"^memory does not suffice: .*DefaultCPUAllocator"):
        train("digits", "BL", f"hidden={2**52}")
    assert not (tmp_path / "run").exists()


def test_a_snapshot_run_of_the_baseline_has_an_ensemble(train, tmp_path):
    result = train("l1-ptb", "BL", "epochs=4", variant="snapshots-as-CBS-1-2")
    assert result["variant"] == "snapshots-as-CBS-1-2"
    assert result["ensemble"]["members"] == ["cycle-000", "cycle-001"]
    assert files(tmp_path / "run" / "snapshots") == {
        *("cycle-000.safetensors", "cycle-001.safetensors", "final.safetensors")
    }


@pytest.mark.parametrize("seed", [-1, 1.0, True, 2**60])
def test_a_seed_must_be_a_whole_number(seed):
    with pytest.raises(InputError, match=r"^seed must be "):
        describe(case(find("digits"), "BL"), seed, [])


def test_spaces_around_a_setting_make_no_other_run():
    made = case(find("digits"), "BL")
    assert describe(made, 0, ["epochs = 3"]) == describe(made, 0, ["epochs=3"])


def test_a_full_disk_is_one_line_and_keeps_what_was_written(train, small_disk):
    out = small_disk / "run"
    with pytest.raises(RunError, match=r"could not be written: No space left on device$"):
        # The weights of C1 are seven megabytes.
        train("c1-cifar10", "BL", "epochs=1", out=out)
    assert read_json(out / "run.json")["recipe"] == "c1-cifar10"
    assert [line["kind"] for line in log(out)] == ["updates", "epoch"]
    assert not any(path.name.startswith(".") for path in out.rglob("*"))
