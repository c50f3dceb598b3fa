import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rebatch.records import read_json, read_lines

SWEEP = ["sweep", "digits", "--schedules", "BL,CBS-1-2", "--seeds", "0", "--jobs", "2"]
SETTINGS = ["--set", "epochs=40", "--device", "cpu", "--checkpoint-every", "0"]
KILLS = 6


def started(out: Path, environment: dict[str, str]) -> subprocess.Popen:
    command = [sys.executable, "-m", "rebatch", *SWEEP, *SETTINGS, "--out", str(out)]
    return subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )


def wait_for_work(out: Path, began: float, process: subprocess.Popen) -> None:
    """Wait until a run has written a checkpoint since the sweep began."""
    limit = time.monotonic() + 60
    while not any(changed(path) > began for path in out.rglob("checkpoint.pt")):
        assert process.poll() is None
        assert time.monotonic() < limit
        time.sleep(0.02)


def changed(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except FileNotFoundError:  # just then replaced
        return 0.0


def finished(out: Path, environment: dict[str, str]) -> None:
    process = started(out, environment)
    _, said = process.communicate(timeout=300)
    assert process.returncode == 0, said


def records(out: Path) -> dict[str, object]:
    """Everything below a sweep's folder, without its clock."""
    found: dict[str, object] = {}
    for path in sorted(path for path in out.rglob("*") if path.is_file()):
        name = path.relative_to(out).as_posix()
        if path.name in ("run.json", "result.json"):
            found[name] = json.dumps(without_clock(read_json(path)))
        elif path.suffix == ".jsonl":
            found[name] = [without_clock(line) for line in read_lines(path)]
        else:
            found[name] = path.read_bytes()
    return found


def without_clock(record: dict) -> dict:
    return {name: value for name, value in record.items() if name not in ("seconds", "started")}


@pytest.mark.faults
def test_a_sweep_that_is_killed_again_and_again_ends_as_if_it_never_was(in_memory, environment):
    finished(in_memory / "whole", environment)
    numbers = random.Random(0)
    for _ in range(KILLS):
        began, process = time.time(), started(in_memory / "parts", environment)
        wait_for_work(in_memory / "parts", began, process)
        time.sleep(numbers.uniform(0, 0.5))
        os.kill(process.pid, signal.SIGKILL)
        process.communicate(timeout=60)
        assert process.returncode == -signal.SIGKILL
    finished(in_memory / "parts", environment)
    assert records(in_memory / "parts") == records(in_memory / "whole")
    print(f"\n{KILLS} kills of a sweep of two runs, and then the same records")
