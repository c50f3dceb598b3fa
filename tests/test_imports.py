"""Who needs no torch does not import it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import rebatch

HEAVY = ("torch", "numpy", "matplotlib", "rich", "safetensors")


def imported_by(code: str) -> set[str]:
    command = [sys.executable, "-X", "importtime", "-c", code]
    path = {**os.environ, "PYTHONPATH": str(Path(rebatch.__file__).parent.parent)}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=path)
    lines = [line for line in done.stderr.splitlines() if line.startswith("import time:")]
    return {line.rsplit("|", 1)[1].strip().split(".")[0] for line in lines}


@pytest.mark.parametrize(
    "code",
    [
        "import rebatch",
        "import rebatch.rates, rebatch.noise",
        "import rebatch; rebatch.plan(rebatch.parse('CBS-5', 10), epochs=40, examples=50_000)",
    ],
)
def test_the_pure_layer_imports_nothing_heavy(code):
    assert "rebatch" in imported_by(code)
    assert imported_by(code).isdisjoint(HEAVY)
