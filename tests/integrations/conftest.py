"""Scripts in two real processes joined by gloo, and the examples, as a user starts them."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


@pytest.fixture(scope="session")
def two_processes():
    """Give ``two_processes(script, *arguments)`` -> what rank 0 and rank 1 print last, as JSON."""
    return _two_processes


@pytest.fixture(scope="session")
def run_example():
    """Give ``run_example(name, *arguments)`` -> the lines that an example prints."""
    return _run_example


def _run_example(name: str, *arguments: object) -> list[str]:
    command = [sys.executable, str(ROOT / "examples" / name), *map(str, arguments)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def _two_processes(script: str, *arguments: object) -> list[Any]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    started = [_start(rank, port, script, arguments) for rank in range(2)]
    try:
        return [_result(process) for process in started]
    finally:
        for process in started:
            process.kill()


def _start(
    rank: int, port: int, script: str, arguments: tuple[object, ...]
) -> "subprocess.Popen[str]":
    place = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": 2, "LOCAL_WORLD_SIZE": 2}
    where = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "OMP_NUM_THREADS": 1}
    added = {name: str(value) for name, value in {**place, **where}.items()}
    return subprocess.Popen(
        [sys.executable, str(HERE / script), *map(str, arguments)],
        env={**os.environ, **added, "PYTHONPATH": str(ROOT / "src")},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _result(process: "subprocess.Popen[str]") -> Any:
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    return json.loads(out.splitlines()[-1])
