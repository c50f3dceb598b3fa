"""Two processes that make one run: one is killed, or does not answer for a while."""

import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rebatch.records import RunFolder, read_json, read_lines

RUN = ["train", "digits", "--schedule", "CBS-1-2", "--set", "epochs=8", "--set", "log_every=5"]
Start = Callable[..., list[subprocess.Popen]]


@pytest.fixture
def start(environment: dict[str, str]) -> Iterator[Start]:
    """Start two ranks that do not outlive the test."""
    started = []

    def begin(out: Path, *more: str) -> list[subprocess.Popen]:
        world = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": free_port()}
        line = [*RUN, "--device", "cpu", "--checkpoint-every", "0.1", "--out", str(out), *more]
        ranks = [
            subprocess.Popen(
                [sys.executable, "-m", "rebatch", *line],
                env={**environment, **world, "RANK": str(rank)},
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
            )
            for rank in range(2)
        ]
        started.extend(ranks)
        return ranks

    yield begin
    for process in started:
        process.kill()
        process.communicate()


def free_port() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])


def finish(ranks: list[subprocess.Popen]) -> None:
    for rank in ranks:
        _, said = rank.communicate(timeout=60)
        assert rank.returncode == 0, said


def wait_for_log(out: Path, lines: int) -> None:
    limit = time.monotonic() + 60
    while sum(1 for _ in read_lines(out / "metrics.jsonl")) < lines:
        assert time.monotonic() < limit
        time.sleep(0.02)


def left(out: Path) -> tuple[list[dict], dict, dict[str, bytes]]:
    """Return log, result and weights, without their clock."""
    folder = RunFolder(out)
    log = [{**line, "seconds": 0} for line in read_lines(folder.metrics)]
    weights = {path.name: path.read_bytes() for path in folder.snapshots.iterdir()}
    return log, {**read_json(folder.result), "seconds": 0}, weights


@pytest.mark.faults
def test_a_rank_that_is_killed_loses_nothing(start, in_memory):
    finish(start(in_memory / "whole"))
    whole = left(in_memory / "whole")
    numbers, slowest = random.Random(0), 0.0
    for number in range(4):
        out, victim = in_memory / f"run-{number}", number % 2
        ranks = start(out)
        wait_for_log(out, numbers.randint(5, 60))
        ranks[victim].kill()
        killed = time.monotonic()
        _, said = ranks[1 - victim].communicate(timeout=60)
        slowest = max(slowest, time.monotonic() - killed)
        assert ranks[1 - victim].returncode == 1
        assert said.startswith("rebatch: another rank has left or does not answer: ")
        assert said.count("\n") == 1
        finish(start(out, "--resume"))
        assert left(out) == whole
    print(f"\n4 ranks killed: the other ended within {slowest:.1f} s, 4 exact resumes")


@pytest.mark.faults
def test_a_rank_that_is_slow_changes_nothing(start, in_memory):
    finish(start(in_memory / "whole"))
    ranks = start(in_memory / "slow")
    for number in range(3):
        wait_for_log(in_memory / "slow", 20 * (number + 1))
        ranks[number % 2].send_signal(signal.SIGSTOP)
        time.sleep(1)
        ranks[number % 2].send_signal(signal.SIGCONT)
    finish(ranks)
    assert left(in_memory / "slow") == left(in_memory / "whole")
    print("\na rank held up 3 times for 1 s: the same records")
