import os
import signal
import subprocess
import threading
import time
from contextlib import nullcontext
from io import StringIO

import pytest
from rich.console import Console

from rebatch.errors import RunError
from rebatch.sweeps import Identity, Standing, Stopped
from rebatch.sweeps import _loop as loop
from rebatch.sweeps._loop import run_all
from rebatch.sweeps._process import Outcome
from rebatch.sweeps._sweep import sweep_on

RUNS = [Identity("digits", "BL", seed) for seed in range(4)]


class Shell:
    """A worker that is a shell command; what it prints is its error."""

    def __init__(self, command: str) -> None:
        self.process = subprocess.Popen(["sh", "-c", command], stdout=subprocess.PIPE, text=True)

    def poll(self) -> Outcome | None:
        if self.process.poll() is None:
            return None
        with self.process.stdout as said:
            return Outcome(self.process.returncode, said.read().strip())

    def stop(self) -> None:
        self.process.terminate()

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


def never(run: Identity) -> bool:
    return False


def test_a_run_that_fails_does_not_stop_the_others():
    state = run_all(RUNS, lambda run: Shell(f"exit {run.seed % 2}"), never, lambda state: None)
    assert [run.seed for run in state.failed] == [1, 3]
    assert len(state.ended) == 4


def test_finished_runs_are_not_started():
    started = []

    def launch(run):
        started.append(run.seed)
        return Shell("true")

    run_all(RUNS, launch, lambda run: run.seed < 3, lambda state: None)
    assert started == [3]


def test_runs_wait_for_room_in_their_order():
    under_way, started = [], []

    def launch(run):
        if any(shell.process.poll() is None for shell in under_way):
            return None
        started.append(run.seed)
        under_way.append(Shell("sleep 0.02"))
        return under_way[-1]

    most = []
    run_all(RUNS, launch, never, lambda state: most.append(len(state.running)))
    assert started == [0, 1, 2, 3]
    assert max(most) == 1


def test_a_folder_in_use_is_tried_again_after_the_others(monkeypatch):
    monkeypatch.setattr(loop, "RETRY", 0.2)
    started = []

    def launch(run):
        started.append(run.seed)
        busy = run.seed == 0 and started.count(0) == 1
        return Shell("echo runs/x is in use by process 3; exit 1" if busy else "true")

    state = run_all(RUNS[:2], launch, never, lambda state: None)
    assert started == [0, 1, 0]
    assert state.failed == []


def test_a_run_that_another_process_finished_meanwhile_is_not_started_again(monkeypatch):
    monkeypatch.setattr(loop, "RETRY", 0.1)
    started = []

    def launch(run):
        started.append(run.seed)
        return Shell("echo x is in use by another process; exit 1")

    state = run_all(RUNS[:1], launch, lambda run: bool(started), lambda state: None)
    assert started == [0]
    assert state.ended[RUNS[0]].code == 0


def signalled(number: int, *after: float) -> None:
    """Send this process a signal after each of some seconds."""

    def send() -> None:
        for seconds in after:
            time.sleep(seconds)
            os.kill(os.getpid(), number)

    threading.Thread(target=send, daemon=True).start()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_is_passed_on_and_its_effect_waited_for(tmp_path, number, code):
    note = tmp_path / "checkpoint"

    def launch(run):
        return Shell(f"trap 'sleep 0.3; touch {note}; exit 143' TERM; while :; do sleep 0.05; done")

    signalled(number, 0.4)
    with pytest.raises(Stopped, match="the same command goes on where it was") as stopped:
        run_all(RUNS[:1], launch, never, lambda state: None)
    assert stopped.value.code == code
    assert note.exists()


def test_a_second_signal_does_not_wait():
    shells = []

    def launch(run):
        shells.append(Shell("trap '' TERM; while :; do sleep 0.05; done"))
        return shells[-1]

    signalled(signal.SIGINT, 0.4, 0.4)
    with pytest.raises(Stopped):
        run_all(RUNS[:1], launch, never, lambda state: None)
    assert shells[0].process.returncode == -signal.SIGKILL


def test_an_error_in_the_sweep_leaves_no_run_behind():
    shells = []

    def launch(run):
        shells.append(Shell("exec sleep 60"))
        return shells[-1]

    with pytest.raises(ZeroDivisionError):
        run_all(RUNS[:2], launch, never, lambda state: 1 / 0)
    assert [shell.process.returncode for shell in shells] == [-9, -9]


def test_a_run_that_somebody_else_stopped_is_not_passed_over():
    def launch(run):
        return Shell("echo stopped by SIGTERM; exit 143" if run.seed else "true")

    with pytest.raises(RunError, match="1 run failed: digits BL seed 1: stopped by SIGTERM"):
        sweep_on(nullcontext(launch), RUNS[:2], lambda run: Standing(), Console(file=StringIO()))
