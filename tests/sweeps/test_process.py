import fcntl
import time
from pathlib import Path

from rebatch.records import read_json
from rebatch.sweeps import Identity, Options
from rebatch.sweeps._process import Outcome, RunProcess, arguments, keep_error


def ended(process: RunProcess) -> Outcome:
    limit = time.monotonic() + 60
    while (outcome := process.poll()) is None:
        assert time.monotonic() < limit
        time.sleep(0.02)
    return outcome


def test_a_run_is_a_command_that_resumes():
    run = Identity("l1-ptb", "CBS-10", 1, "equal-noise", ("epochs=2", "hidden=8"))
    line = arguments(run, Path("out/x"), Options("cuda:1", Path("data"), 5.0))
    assert " ".join(line) == (
        "train l1-ptb --schedule CBS-10 --seed 1 --out out/x --resume --device cuda:1 "
        "--checkpoint-every 5.0 --engine auto --variant equal-noise --data data "
        "--set epochs=2 --set hidden=8"
    )


def test_a_failed_run_leaves_its_error_and_a_folder_in_use_is_told_apart(tmp_path):
    """Two processes at once, because starting them is what takes the time."""
    lacking = tmp_path / "lacking"
    busy = tmp_path / "busy"
    busy.mkdir()
    with (busy / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        one = RunProcess(Identity("l1-ptb", "BL", 0), lacking, Options("cpu", tmp_path), {})
        two = RunProcess(Identity("digits", "BL", 0), busy, Options("cpu"), {})
        failed, refused = ended(one), ended(two)
    assert failed.code == 2
    assert failed.error.startswith("data must hold penn-treebank/ptb.train.txt, got ")
    assert (lacking / "error.txt").read_text() == f"{failed.error}\n"
    assert refused.in_use
    assert not (busy / "error.txt").exists()


def test_a_run_does_not_look_for_the_other_ranks_of_its_sweep(tmp_path, monkeypatch):
    for name, value in {"RANK": "0", "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("MASTER_PORT", "29555")  # where nobody answers
    monkeypatch.setenv("REBATCH_TIMEOUT", "1")
    run = Identity("digits", "BL", 0, overrides=("epochs=1",))
    assert ended(RunProcess(run, tmp_path / "run", Options("cpu"), {})) == Outcome(0)
    assert read_json(tmp_path / "run" / "run.json")["ranks"] == 1


def test_a_run_that_succeeds_takes_the_note_of_its_failure_away(tmp_path):
    keep_error(tmp_path, Outcome(1, "no memory"))
    keep_error(tmp_path, Outcome(143, "stopped"))
    assert (tmp_path / "error.txt").read_text() == "no memory\n"
    keep_error(tmp_path, Outcome(0))
    assert not (tmp_path / "error.txt").exists()


def test_memory_in_use_is_a_failure_and_not_a_folder_to_wait_for():
    said = "memory does not suffice: this process has 70 GiB memory in use"
    assert not Outcome(1, said).in_use
    assert Outcome(1, "runs/x is in use by process 7").in_use
