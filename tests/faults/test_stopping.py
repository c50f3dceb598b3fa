import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from rebatch.cli import main
from rebatch.records import read_json

RUN = ["train", "digits", "--schedule", "CBS-1-2", "--set", "epochs=400", "--device", "cpu"]


def started(out: Path, environment: dict[str, str], *more: str) -> subprocess.Popen:
    command = [sys.executable, "-m", "rebatch", *RUN, "--out", str(out), *more]
    return subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)


def wait_for(path: Path, process: subprocess.Popen) -> None:
    limit = time.monotonic() + 60
    while not path.exists() or not path.stat().st_size:
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < limit
        time.sleep(0.01)


def test_preemption_leaves_a_checkpoint_within_ten_seconds(tmp_path, environment):
    process = started(tmp_path / "run", environment)
    wait_for(tmp_path / "run" / "metrics.jsonl", process)
    assert not (tmp_path / "run" / "checkpoint.pt").exists()
    began = time.monotonic()
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate(timeout=60)
    seconds = time.monotonic() - began
    assert process.returncode == 143
    assert said.startswith("rebatch: stopped by SIGTERM after update ")
    assert (tmp_path / "run" / "checkpoint.pt").exists()
    assert seconds < 10
    print(f"\nSIGTERM: checkpoint and exit code 143 after {seconds:.2f} s")


def test_of_two_processes_in_one_folder_one_is_refused(tmp_path, environment, capsys):
    process = started(tmp_path / "run", environment)
    wait_for(tmp_path / "run" / "metrics.jsonl", process)
    for more in ([], ["--resume"]):
        assert main([*RUN, "--out", str(tmp_path / "run"), *more]) == 1
        assert capsys.readouterr().err == (
            f"rebatch: {tmp_path / 'run'} is in use by process {process.pid}\n"
        )
    os.kill(process.pid, signal.SIGTERM)
    process.communicate(timeout=60)
    assert process.returncode == 143
    assert read_json(tmp_path / "run" / "run.json")["status"] == "interrupted"
    assert not (tmp_path / "run" / ".lock").exists()


CLOCK = """
import itertools, sys, time
jumps = itertools.cycle([0.0, 1e9, -1e9])
time.time = lambda: 1.7e9 + next(jumps)
from rebatch.cli import main
sys.exit(main(sys.argv[1:]))
"""


def test_a_clock_that_jumps_changes_nothing(tmp_path, environment):
    command = [*RUN, "--set", "epochs=3", "--checkpoint-every", "0.01", "--out", str(tmp_path)]
    done = subprocess.run(
        [sys.executable, "-c", CLOCK, *command],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert 0 <= read_json(tmp_path / "result.json")["seconds"] < 60
