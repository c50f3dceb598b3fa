"""Recipes under policies, and their recorded plans trained again."""

import os
import signal

import pytest
import torch

from rebatch._course import Course
from rebatch.engine.stopping import Stopped
from rebatch.errors import InputError
from rebatch.policies import auto
from rebatch.recipes import case, find, override, replay
from rebatch.recipes._ensemble import ensemble
from rebatch.recipes._run import run
from rebatch.records import RunFolder, read_json, read_lines

CLOCKS = ("seconds", "eigenvalue_seconds")


def log(out, *left_out):
    lines = [line for line in read_lines(RunFolder(out).metrics) if line["kind"] not in left_out]
    return [{name: line[name] for name in line if name not in CLOCKS} for line in lines]


def weights(out):
    paths = RunFolder(out).snapshots.glob("*.safetensors")
    return {path.name: path.read_bytes() for path in paths}


def trained_again(data_root, out, into, device="cpu"):
    """Train the plan that a run has recorded."""
    record = read_json(out / "run.json")
    recipe = override(find(record["recipe"]), record["overrides"])
    course = Course.from_dict(read_json(out / "plan.json"))
    settings = {"data_root": data_root, "device": device, "overrides": record["overrides"]}
    return run(replay(recipe, course, record["variant"]), seed=0, out=into, **settings)


@pytest.mark.parametrize(
    ("name", "code", "epochs"),
    [
        ("l1-ptb", "AUTO(measure_every=5)", 4),
        ("c3-cifar10", "PLATEAU(patience=1)", 2),
        ("e1-snli", "GNS(share=0.5)", 3),
        ("digits", "AUTO(cycle=4)", 5),
        ("digits", "ABSA(ratio=4, duration=1)", 5),
    ],
)
def test_a_recorded_plan_gives_the_same_run(train, data_root, tmp_path, name, code, epochs):
    result = train(name, code, f"epochs={epochs}", out=tmp_path / "one")
    again = trained_again(data_root, tmp_path / "one", tmp_path / "two")
    assert weights(tmp_path / "two") == weights(tmp_path / "one")
    assert log(tmp_path / "two") == log(tmp_path / "one", "decision")
    assert (again["updates"], again["final"]) == (result["updates"], result["final"])
    assert again["ensemble"] == result["ensemble"]
    assert again["schedule"] == result["schedule"] == code
    assert again["variant"].startswith("replay-")


@pytest.mark.parametrize("update", [7, 17])
def test_a_stopped_run_goes_on_as_if_it_had_not(train, tmp_path, update):
    def follow(job):
        def watch(progress, rate):
            if progress.update == update:
                os.kill(os.getpid(), signal.SIGTERM)

        return watch

    settings = ("l1-ptb", "AUTO(measure_every=5)", "epochs=4")
    train(*settings, out=tmp_path / "whole")
    with pytest.raises(Stopped):
        train(*settings, out=tmp_path / "parts", watch=follow)
    train(*settings, out=tmp_path / "parts", resume=True)
    assert weights(tmp_path / "parts") == weights(tmp_path / "whole")
    assert log(tmp_path / "parts") == log(tmp_path / "whole")
    plans = [read_json(tmp_path / name / "plan.json") for name in ("parts", "whole")]
    assert plans[0] == plans[1]


def test_the_result_has_the_updates_that_were_made(train, tmp_path):
    result = train("digits", "AUTO(cycle=4)", "epochs=8")
    plan = read_json(tmp_path / "run" / "plan.json")["plan"]
    assert result["updates"] == plan["updates"] == sum(row["updates"] for row in plan["rows"])
    assert plan["epochs"] == 8
    assert len(result["ensemble"]["members"]) == len(plan["cycle_ends"]) > 0


def test_snapshots_of_a_replay_are_evaluated_from_its_own_folder(train, data_root, tmp_path):
    train("digits", "AUTO(cycle=4)", "epochs=4", out=tmp_path / "one")
    result = trained_again(data_root, tmp_path / "one", tmp_path / "two")
    figures = ensemble(tmp_path / "two", device="cpu", data_root=data_root)
    members = result["ensemble"].pop("members")
    assert members == list(figures["each"])
    assert figures["together"] == result["ensemble"]


@pytest.mark.parametrize("variant", ["constant-rate", "step-snapshots"])
def test_a_control_is_trained_again_as_the_control_it_was(train, data_root, tmp_path, variant):
    settings = ("epochs=3", "cyclical_rate=divided(0.3, at=(1,), by=3)")
    train("digits", "AUTO(cycle=4)", *settings, variant=variant, out=tmp_path / "one")
    result = trained_again(data_root, tmp_path / "one", tmp_path / "two")
    assert weights(tmp_path / "two") == weights(tmp_path / "one")
    assert log(tmp_path / "two") == log(tmp_path / "one", "decision")
    assert result["variant"].endswith(f"-{variant}")
    figures = ensemble(tmp_path / "two", device="cpu", data_root=data_root)
    assert list(figures["each"]) == result["ensemble"]["members"]


def test_a_policy_starts_from_the_base_of_the_cycles_and_with_their_rate():
    made = case(find("l1-ptb"), "auto")
    assert (made.code, made.schedule, made.policy) == ("AUTO", auto(10), auto(10))
    assert (made.base, made.rate_at(0, [])) == (10, 20.0)
    assert (made.plan().epochs, made.plan().sizes) == (1, (10,))
    assert made.expected().epochs == 39


@pytest.mark.parametrize("variant", ["base-batch", "equal-noise", "equal-updates"])
def test_controls_that_need_a_schedule_refuse_a_policy(variant):
    with pytest.raises(InputError, match=r"^schedule must be known before training .* got AUTO$"):
        case(find("c1-cifar10"), "AUTO", variant)


@pytest.mark.parametrize("variant", ["step-snapshots", "constant-rate", "snapshots-as-CBS-5-3"])
def test_other_controls_take_one(variant):
    assert case(find("c1-cifar10"), "AUTO", variant).policy == auto(128)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("norm_batch_size=0", r"^norm_batch_size must be above 0 with AUTO, got 0$"),
        ("snapshot_at=top-step-end", r"^snapshot_at must not be top-step-end with AUTO, got it$"),
    ],
)
def test_what_needs_the_sizes_to_come_is_refused(setting, message):
    with pytest.raises(InputError, match=message):
        case(override(find("c1-cifar10"), [setting]), "AUTO")


def test_validation_is_not_watched_where_there_is_none():
    code = "PLATEAU(watch='validation')"
    with pytest.raises(InputError, match=r"^holdout must be above 0 for PLATEAU\(watch="):
        case(find("digits"), code)
    kept = override(find("digits"), ["holdout=100"])
    assert case(kept, code).expected().epochs == 40


def test_snapshots_are_taken_at_the_ends_of_another_schedules_cycles(train, tmp_path):
    train("digits", "AUTO", "epochs=5", variant="snapshots-as-CBS-1-2")
    assert set(weights(tmp_path / "run")) == {
        *("cycle-000.safetensors", "cycle-001.safetensors", "final.safetensors")
    }


def test_a_plan_for_other_data_or_of_another_length_is_refused():
    course = case(find("digits"), "AUTO").course(case(find("digits"), "BL").plan().amount)
    assert course is not None
    with pytest.raises(InputError, match=r"^plan must be made for Examples\(count=50000,.* got Ex"):
        replay(find("c1-cifar10"), course).plan()
    rule = r"^plan must have 40 epochs as the recipe, got 1: change the recipe with --set epochs=1$"
    with pytest.raises(InputError, match=rule):
        replay(find("digits"), course).plan()


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_gpu_decides_and_replays_too(train, data_root, tmp_path):
    result = train("digits", "AUTO(cycle=4)", "epochs=8", out=tmp_path / "one", device="cuda")
    decisions = [line for line in log(tmp_path / "one") if line["kind"] == "decision"]
    assert any(line["gauges"].get("noise_scale", 0) > 0 for line in decisions)
    again = trained_again(data_root, tmp_path / "one", tmp_path / "two", device="cuda")
    assert again["updates"] == result["updates"]
    assert again["final"]["train_loss"] == pytest.approx(result["final"]["train_loss"], rel=0.05)
