import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

import rebatch
from rebatch.cli import main
from rebatch.records import read_json, read_lines

SOURCE = str(Path(rebatch.__file__).parent.parent)


@pytest.fixture(autouse=True)
def _one_thread() -> None:
    torch.set_num_threads(1)


QUICK = ["train", "digits", "--set", "epochs=2", "--device", "cpu"]


def train(out, *more: str) -> int:
    return main([*QUICK, "--out", str(out), *more])


def error(capsys) -> str:
    """The one line on standard error."""
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    return lines[0]


def without_clock(path: Path) -> list[dict]:
    return [
        {name: value for name, value in line.items() if name != "seconds"}
        for line in read_lines(path / "metrics.jsonl")
    ]


def test_a_run_ends_in_one_line_and_a_folder(tmp_path, capsys):
    assert train(tmp_path / "run", "--schedule", "CBS-1-2", "--seed", "3") == 0
    result = read_json(tmp_path / "run" / "result.json")
    accuracy = result["final"]["test_accuracy"]
    said, nothing = capsys.readouterr()
    assert nothing == ""
    head, tail = said.strip().split(" updates in ")
    assert head == (f"digits CBS-1-2 seed 3; test_accuracy {accuracy:.2f}; 135")
    assert tail.endswith(f" s; records in {tmp_path / 'run'}")


def test_the_plan_of_a_run_is_trained_again(tmp_path, capsys):
    assert train(tmp_path / "one", "--schedule", "GNS") == 0
    plan = str(tmp_path / "one" / "plan.json")
    assert train(tmp_path / "two", "--plan", plan) == 0
    weights = [tmp_path / name / "snapshots" / "final.safetensors" for name in ("one", "two")]
    assert weights[0].read_bytes() == weights[1].read_bytes()
    result = read_json(tmp_path / "two" / "result.json")
    assert (result["schedule"], result["variant"][:7]) == ("GNS", "replay-")
    capsys.readouterr()
    assert train(tmp_path / "three", "--plan", plan, "--variant", "equal-noise") == 2
    assert error(capsys).startswith("rebatch: schedule must be known before training for this ")
    assert train(tmp_path / "three", "--plan", plan, "--set", "epochs=3") == 2
    assert error(capsys).startswith("rebatch: plan must have 3 epochs as the recipe, got 2: ")
    assert train(tmp_path / "three", "--plan", plan, "--set", "holdout=100") == 2
    assert error(capsys).startswith("rebatch: plan must be made for Examples(count=1337, ")
    assert not (tmp_path / "three").exists()


@pytest.mark.parametrize("text", [None, "no plan", "[]", "{}", '{"plan": {}, "epochs": 2}'])
def test_what_is_no_plan_of_a_run_is_refused(tmp_path, capsys, text):
    if text is not None:
        (tmp_path / "plan.json").write_text(text)
    assert train(tmp_path / "run", "--plan", str(tmp_path / "plan.json")) == 2
    assert error(capsys).startswith("rebatch: plan must be ")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--schedule", "AUTO", "--variant", "equal-noise"], "rebatch: schedule must be known"),
        (["--schedule", "AUTO", "--plan", "x"], "rebatch: argument --plan: not allowed with"),
        (["--schedule", "CBS-0"], "rebatch: "),
        (["--schedule", "BL", "--seed", "x"], "rebatch: seed must be a whole number"),
        (["--schedule", "BL", "--seed", "9" * 30], "rebatch: seed must have at most 19 digits"),
        (["--schedule", "BL", "--variant", "none"], "rebatch: variant must be one of base-batch"),
        (["--schedule", "BL", "--set", "epoch=2"], "rebatch: field must be one of the recipe's"),
        (["--schedule", "BL", "--set", "epochs=two"], "rebatch: epochs must be a whole number"),
        (["--schedule", "BL", "--device", "gpu9"], "rebatch: device must be auto, cpu or a device"),
        (["--schedule", "BL", "--checkpoint-every", "-1"], "rebatch: checkpoint-every must be a"),
        (["--schedule", "BL", "--checkpoint-every", "nan"], "rebatch: checkpoint-every must be a"),
        ([], "rebatch: one of the arguments --schedule --plan is required"),
    ],
)
def test_wrong_input_is_one_line_and_leaves_nothing(tmp_path, capsys, arguments, complaint):
    assert train(tmp_path / "run", *arguments) == 2
    assert error(capsys).startswith(complaint)
    assert not (tmp_path / "run").exists()


def test_a_wrong_recipe_is_answered_with_the_nearest(tmp_path, capsys):
    assert main(["train", "digit", "--schedule", "BL", "--out", str(tmp_path / "run")]) == 2
    assert error(capsys).endswith("got 'digit'; did you mean digits?")


def test_missing_data_says_what_to_run(tmp_path, capsys):
    out = ["--out", str(tmp_path / "run"), "--data", str(tmp_path)]
    assert main(["train", "l1-ptb", "--schedule", "BL", *out]) == 2
    assert error(capsys) == (
        f"rebatch: data must hold penn-treebank/ptb.train.txt, got {tmp_path} without it; "
        f"run: rebatch data get ptb --data {tmp_path}"
    )
    assert not (tmp_path / "run").exists()


def test_a_foreign_data_file_is_a_failure(tmp_path, capsys):
    folder = tmp_path / "penn-treebank"
    folder.mkdir()
    for split in ("train", "valid", "test"):
        (folder / f"ptb.{split}.txt").write_bytes(b"\x80\x02\xff")
    out = ["--out", str(tmp_path / "run"), "--data", str(tmp_path)]
    assert main(["train", "l1-ptb", "--schedule", "BL", *out]) == 1
    assert "ptb.train.txt is not a text in UTF-8" in error(capsys)


def test_a_place_that_cannot_hold_a_run_is_a_failure(tmp_path, capsys):
    (tmp_path / "file").write_text("kept")
    assert train(tmp_path / "file" / "run", "--schedule", "BL") == 1
    assert "file/run could not be written: Not a directory" in error(capsys)
    assert (tmp_path / "file").read_text() == "kept"


def test_a_name_that_no_disk_takes_is_a_failure(tmp_path, capsys):
    assert train(tmp_path / ("x" * 300), "--schedule", "BL") == 1
    assert "File name too long" in error(capsys)


def test_a_loss_that_is_no_number_is_a_failure_that_says_where(tmp_path, capsys):
    wild = ["--schedule", "BL", "--set", "baseline_rate=1e9", "--checkpoint-every", "0"]
    assert train(tmp_path / "run", *wild) == 1
    said = error(capsys)
    assert "is no longer a finite number at epoch 0, update " in said
    assert read_json(tmp_path / "run" / "run.json")["status"] == "failed"


def test_an_occupied_folder_is_refused_and_a_finished_run_told_again(tmp_path, capsys):
    assert train(tmp_path / "run", "--schedule", "BL") == 0
    said = capsys.readouterr().out
    assert train(tmp_path / "run", "--schedule", "BL") == 2
    assert error(capsys) == (
        f"rebatch: out must be a folder without a run, or use --resume, got {tmp_path / 'run'}"
    )
    assert train(tmp_path / "run", "--schedule", "BL", "--resume") == 0
    assert capsys.readouterr().out == said
    assert train(tmp_path / "run", "--schedule", "CBS-5", "--resume") == 2
    assert error(capsys) == (
        "rebatch: out must hold the run to resume: its schedule is 'BL', got 'CBS-5'"
    )


def test_a_truncated_checkpoint_is_a_failure_and_stays(tmp_path, capsys):
    assert train(tmp_path / "run", "--schedule", "BL") == 0
    (tmp_path / "run" / "result.json").unlink()
    (tmp_path / "run" / "checkpoint.pt").write_bytes(b"PK\x03\x04torn")
    before = (tmp_path / "run" / "metrics.jsonl").read_bytes()
    capsys.readouterr()
    assert train(tmp_path / "run", "--schedule", "BL", "--resume") == 1
    assert "checkpoint.pt is not a whole checkpoint: " in error(capsys)
    assert (tmp_path / "run" / "metrics.jsonl").read_bytes() == before


def test_tensorboard_events_can_be_read_again(tmp_path):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    assert train(tmp_path / "run", "--schedule", "CBS-1-2", "--tensorboard") == 0
    events = EventAccumulator(str(tmp_path / "run" / "tensorboard"))
    events.Reload()
    lines = list(read_lines(tmp_path / "run" / "metrics.jsonl"))
    epochs = [line for line in lines if line["kind"] == "epoch"]
    accuracy = events.Scalars("test_accuracy")
    assert [event.step for event in accuracy] == [line["update"] for line in epochs]
    assert [event.value for event in accuracy] == pytest.approx(
        [line["test_accuracy"] for line in epochs]
    )
    assert len(events.Scalars("batch_size")) == len(lines)


def test_weights_and_biases_must_be_installed(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "wandb", None)
    assert train(tmp_path / "run", "--schedule", "BL", "--wandb", "project") == 2
    assert error(capsys) == (
        "rebatch: wandb must be installed, got none: pip install 'rebatch[wandb]'"
    )


def started(out: Path, *more: str) -> subprocess.Popen:
    """A real process that trains long enough to be stopped."""
    command = [sys.executable, "-m", "rebatch", "train", "digits", "--schedule", "CBS-1-2"]
    arguments = ["--set", "epochs=6", "--device", "cpu", "--out", str(out), *more]
    environment = {**os.environ, "PYTHONPATH": SOURCE, "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        [*command, *arguments], stderr=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
    )


def wait_for(path: Path, process: subprocess.Popen) -> None:
    limit = time.monotonic() + 60
    while not path.exists():
        assert process.poll() is None, process.stderr.read().decode()
        assert time.monotonic() < limit
        time.sleep(0.005)


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Path:
    """The run that nobody stops."""
    out = tmp_path_factory.mktemp("whole") / "run"
    process = started(out)
    assert process.wait(timeout=60) == 0, process.stderr.read().decode()
    process.communicate()
    return out


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGKILL, -9)]
)
def test_a_process_that_is_stopped_or_killed_resumes_exactly(tmp_path, whole, number, code):
    out = tmp_path / "run"
    process = started(out, "--checkpoint-every", "0")
    wait_for(out / "checkpoint.pt", process)
    process.send_signal(number)
    said, complaint = (text.decode() for text in process.communicate(timeout=60))
    assert process.returncode == code
    assert said == ""
    if code > 0:
        assert complaint.startswith(f"rebatch: stopped by {signal.Signals(number).name} after ")
        assert complaint.count("\n") == 1
        assert read_json(out / "run.json")["status"] == "interrupted"
    again = ["train", "digits", "--schedule", "CBS-1-2", "--set", "epochs=6", "--device", "cpu"]
    assert main([*again, "--out", str(out), "--resume"]) == 0
    assert without_clock(out) == without_clock(whole)
    for name in ("cycle-000", "cycle-001", "cycle-002", "final"):
        file = Path("snapshots") / f"{name}.safetensors"
        assert (out / file).read_bytes() == (whole / file).read_bytes()
    results = [json.loads((path / "result.json").read_text()) for path in (out, whole)]
    assert [result.pop("seconds") >= 0 for result in results] == [True, True]
    assert results[0] == results[1]


def test_data_that_is_not_all_of_its_set_is_said(tmp_path, capsys):
    folder = tmp_path / "penn-treebank"
    folder.mkdir()
    for split in ("train", "valid", "test"):
        (folder / f"ptb.{split}.txt").write_text("a b c d e f g\n" * 20)
    small = ["--set", "epochs=1", "--set", "hidden=4", "--set", "baseline_batch_size=2"]
    command = ["train", "l1-ptb", "--schedule", "BL", "--device", "cpu", *small]
    assert main([*command, "--data", str(tmp_path), "--out", str(tmp_path / "run")]) == 0
    assert error(capsys) == (
        "rebatch: note: ptb: train must be 929,589, got 160; valid must be 73,760, got 160; "
        "test must be 82,430, got 160; vocabulary must be 10,000, got 8: see rebatch data check ptb"
    )
