"""Launching real ranks."""

import fcntl
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import rebatch

HERE = Path(__file__).parent
Launch = Callable[..., tuple[Path, dict[str, list[Any]]]]


@pytest.fixture(scope="session")
def environment() -> dict[str, str]:
    """What a process needs to find this package and to take one core."""
    source = str(Path(rebatch.__file__).parents[1])
    return {**os.environ, "PYTHONPATH": source, "OMP_NUM_THREADS": "1"}


@pytest.fixture(scope="session")
def launch(environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Launch:
    """Run functions of a script on several ranks: ``train:2`` is its ``train`` on two.

    Of the workers of pytest-xdist one launches and the others take what it has found.
    """
    root = tmp_path_factory.getbasetemp()
    shared = root.parent if "PYTEST_XDIST_WORKER" in os.environ else root

    def launched(script: str, *functions: str) -> tuple[Path, dict[str, list[Any]]]:
        folder = shared / f"ranks-{Path(script).stem}"
        (folder / "runs").mkdir(parents=True, exist_ok=True)
        with (folder / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            answer = folder / "found.json"
            if not answer.exists():
                command = [HERE / "launch.py", HERE / script, *functions, "--", folder / "runs"]
                answer.write_bytes(_printed([sys.executable, *map(str, command)], environment))
        return folder / "runs", json.loads(answer.read_text())

    return launched


def _printed(command: list[str], environment: dict[str, str]) -> bytes:
    run = subprocess.run(command, env=environment, stdout=subprocess.PIPE, timeout=240, check=True)
    return run.stdout
