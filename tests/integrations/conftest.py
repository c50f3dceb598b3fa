"""Scripts in two real processes joined by gloo, and the examples, as a user starts them."""

import json
import os
import runpy
import signal
import socket
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

with warnings.catch_warnings():
    # To import ignite is to import parts of torch that call what torch itself deprecates.
    warnings.filterwarnings("ignore", "`torch.jit", DeprecationWarning)
    import ignite.engine  # noqa: F401

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


@pytest.fixture(scope="session")
def two_processes():
    """Give ``two_processes(script, *arguments)`` -> the JSON that rank 0 and rank 1 print last."""
    return _two_processes


@pytest.fixture
def run_example(monkeypatch, capsys):
    """Give ``run_example(name, *arguments)`` -> the lines that an example prints."""

    def run(name, *arguments):
        monkeypatch.setattr(sys, "argv", [name, *map(str, arguments)])
        runpy.run_path(str(ROOT / "examples" / name), run_name="__main__")
        return capsys.readouterr().out.splitlines()

    return run


def _two_processes(script, *arguments):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    added = {
        "WORLD_SIZE": "2",
        "LOCAL_WORLD_SIZE": "2",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": str(ROOT / "src"),
    }
    process = subprocess.Popen(
        [sys.executable, str(HERE / "launch.py"), str(HERE / script), *map(str, arguments)],
        env={**os.environ, **added},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        out, err = process.communicate(timeout=120)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        raise
    assert process.returncode == 0, err
    return json.loads(out.splitlines()[-1])
