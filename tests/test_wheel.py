"""The wheel alone, in an empty environment, does the main job."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def python(tmp_path_factory) -> Path:
    """An interpreter that has the wheel and what it asks for, nothing else."""
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "build", "--wheel", "--outdir", folder, ROOT)
    (wheel,) = folder.glob("rebatch-*.whl")
    run(sys.executable, "-m", "venv", folder / "empty")
    python = folder / "empty/bin/python"
    run(python, "-m", "pip", "install", "-q", "-c", ROOT / "constraints.txt", wheel)
    return python


def run(*command: object, cwd: Path | None = None) -> str:
    words = [str(word) for word in command]
    done = subprocess.run(words, capture_output=True, text=True, cwd=cwd, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_the_wheel_plans(python, tmp_path):
    length = ["--base", "128", "--epochs", "90", "--examples", "50000"]
    printed = run(python, "-m", "rebatch", "plan", "CBS-5-3-A", *length, "--json", cwd=tmp_path)
    assert '"updates": 15420' in printed


@pytest.mark.slow
def test_the_wheel_runs_the_demo(python, tmp_path):
    rebatch = python.parent / "rebatch"
    printed = run(rebatch, "demo", "--seeds", "1", "--epochs", "8", cwd=tmp_path)
    assert "CBS-5-T" in printed
    assert (tmp_path / "demo/report.html").read_text().startswith("<!DOCTYPE html>")


@pytest.mark.slow
def test_what_an_extra_would_bring_is_asked_for_in_one_line(python, tmp_path):
    length = ["--base", "10", "--epochs", "40", "--examples", "100"]
    command = [str(python), "-m", "rebatch", "plan", "CBS-5", *length, "--plot", "plan.png"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "pip install 'rebatch[plot]'" in done.stderr
