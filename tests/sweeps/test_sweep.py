"""Whole sweeps in processes of their own, with real signals."""

import os
import random
import re
import signal
import subprocess
import sys
import time
from collections import deque
from pathlib import Path

import pytest

from rebatch.errors import RunError
from rebatch.records import read_json
from rebatch.sweeps import Identity, identities
from rebatch.sweeps._loop import State
from rebatch.sweeps._process import Outcome
from rebatch.sweeps._sweep import demand_success

CODES, EPOCHS = ("BL", "CBS-1-2"), 12
RUNS = identities("digits", CODES, [0], [None], [f"epochs={EPOCHS}"])


@pytest.fixture(scope="module")
def undisturbed(train, tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("undisturbed")
    for run in RUNS:
        train(run, out)
    return out


def started(out: Path, runs: list[Identity], *more: str) -> subprocess.Popen:
    codes = ",".join(run.schedule for run in runs)
    command = [sys.executable, "-m", "rebatch", "sweep", "digits", "--schedules", codes]
    command += ["--set", f"epochs={EPOCHS}", "--device", "cpu", "--out", str(out), "--jobs", "2"]
    return subprocess.Popen([*command, *more], stderr=subprocess.PIPE, stdout=subprocess.PIPE)


def wait_for(path: Path, process: subprocess.Popen) -> None:
    limit = time.monotonic() + 60
    while not path.exists():
        assert process.poll() is None, process.stderr.read().decode()
        assert time.monotonic() < limit
        time.sleep(0.005)


def processes_in(out: Path) -> list[int]:
    """Processes that were told to work below a folder."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if f"{out}".encode() in path.read_bytes():
                found.append(int(path.parent.name))
        except OSError:
            continue
    return found


def ended(process: subprocess.Popen) -> tuple[int, str]:
    said, error = process.communicate(timeout=120)
    return process.returncode, (said + error).decode()


def is_finished(out: Path, run: Identity) -> bool:
    return (out / run.folder / "result.json").exists()


@pytest.mark.parametrize(
    ("number", "code", "runs"), [(signal.SIGKILL, -9, RUNS), (signal.SIGTERM, 143, RUNS[1:])]
)
def test_a_sweep_that_is_stopped_goes_on_as_if_nothing_had_happened(
    tmp_path, undisturbed, records, number, code, runs
):
    out = tmp_path / "out"
    process = started(out, runs, "--checkpoint-every", "0.05")
    wait_for(out / runs[0].folder / "checkpoint.pt", process)
    process.send_signal(number)
    assert ended(process)[0] == code
    limit = time.monotonic() + 5
    while processes_in(out):  # a kill takes its runs with it at once
        assert time.monotonic() < limit
        time.sleep(0.01)
    assert not all(is_finished(out, run) for run in runs)
    if number == signal.SIGTERM:
        assert read_json(out / runs[0].folder / "run.json")["status"] in ("interrupted", "finished")
    status, said = ended(started(out, runs))
    assert status == 0, said
    for run in runs:
        assert records(out / run.folder) == records(undisturbed / run.folder)


def test_one_that_fails_does_not_stop_the_rest_and_is_told(tmp_path, train, capsys):
    from rebatch.cli import main

    good, bad = identities("digits", ["CBS-1-2", "BL"], [0], [None], ["epochs=1"])
    train(good, tmp_path)
    (tmp_path / bad.folder).mkdir(parents=True)
    (tmp_path / bad.folder / "metrics.jsonl").write_text("{}\n")  # of nobody knows what
    arguments = ["--set", "epochs=1", "--device", "cpu", "--out", str(tmp_path), "--jobs", "1"]
    assert main(["sweep", "digits", "--schedules", "BL,CBS-1-2", *arguments]) == 1
    said, error = capsys.readouterr()
    reason = f"out must be a folder without records, got {tmp_path / bad.folder / 'metrics.jsonl'}"
    assert error == f"rebatch: 1 run failed: {bad.label}: {reason}\n"
    assert f"{good.label}: finished, " in said
    assert (tmp_path / bad.folder / "error.txt").read_text() == f"{reason}\n"


def test_what_every_run_refuses_is_wrong_input_told_once(tmp_path, capsys):
    from rebatch.cli import main

    arguments = ["--schedules", "BL,CBS-1-2", "--device", "cpu", "--engine", "graphs"]
    assert main(["sweep", "digits", *arguments, "--out", str(tmp_path)]) == 2
    error = capsys.readouterr().err
    assert (
        error == "rebatch: engine must be eager except on one GPU, got graphs on the device cpu\n"
    )


@pytest.mark.parametrize(
    ("reasons", "said"),
    [
        (["a"], "1 run failed: digits BL seed 0: a"),
        (["a", "a", "b"], "3 runs failed: digits BL seed 0 and 1 more: a; digits BL seed 2: b"),
        (
            [*"aabcde"],
            "6 runs failed: digits BL seed 0 and 1 more: a; digits BL seed 2: b; "
            "digits BL seed 3: c; …",
        ),
    ],
)
def test_runs_that_fail_alike_are_told_together(reasons, said):
    runs = [Identity("digits", "BL", seed) for seed in range(len(reasons) + 1)]
    ends = {run: Outcome(1, reason) for run, reason in zip(runs, reasons, strict=False)}
    with pytest.raises(RunError, match=f"^{re.escape(said)}$"):
        demand_success(State(deque(), ended={**ends, runs[-1]: Outcome(0)}), runs)


@pytest.mark.slow
def test_a_sweep_killed_again_and_again_ends_as_an_undisturbed_one(tmp_path, undisturbed, records):
    out, draws, kills = tmp_path / "out", random.Random(0), 0
    while kills < 8:
        process = started(out, RUNS, "--checkpoint-every", "0.05")
        enough = written(out) + draws.choice((0, 1, 500, 2_000))
        deadline = time.monotonic() + draws.uniform(0.5, 15.0)
        while process.poll() is None and written(out) < enough and time.monotonic() < deadline:
            time.sleep(0.002)
        process.kill()
        ended(process)
        kills += 1
    status, said = ended(started(out, RUNS))
    assert status == 0, said
    for run in RUNS:
        assert records(out / run.folder) == records(undisturbed / run.folder)


def written(out: Path) -> int:
    """Bytes of all logs, and a little more for every other file."""
    found = [path for path in out.rglob("*") if path.suffix in (".jsonl", ".json", ".pt")]
    return sum(10 + (os.path.getsize(path) if path.suffix == ".jsonl" else 0) for path in found)
