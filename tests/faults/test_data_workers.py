import subprocess
import sys
import time
from pathlib import Path

import pytest

from rebatch.records import read_json

DRIVER = Path(__file__).parent / "pictures.py"


@pytest.mark.faults
@pytest.mark.parametrize(("fault", "reason"), [("dies", ""), ("raises", "is not a readable image")])
def test_a_data_worker_that_fails_is_one_line_and_no_hang(tmp_path, environment, fault, reason):
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, str(DRIVER), str(tmp_path), fault],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 1
    note, line = done.stderr.splitlines()
    assert note.startswith("imagenet: train must be 1,281,167, got 12; ")
    assert line.startswith("rebatch: a data worker failed: ")
    assert reason in line
    assert read_json(tmp_path / "run" / "run.json")["status"] == "failed"
    print(f"\na data worker {fault}: one line after {time.monotonic() - began:.0f} s in all")


@pytest.mark.faults
def test_a_stop_that_is_sent_to_the_workers_too_leaves_a_checkpoint(tmp_path, environment):
    done = subprocess.run(
        [sys.executable, str(DRIVER), str(tmp_path), "stopped"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 143
    assert done.stderr.splitlines()[1].startswith("rebatch: stopped by SIGTERM after update ")
    assert read_json(tmp_path / "run" / "run.json")["status"] == "interrupted"
    assert (tmp_path / "run" / "checkpoint.pt").exists()
