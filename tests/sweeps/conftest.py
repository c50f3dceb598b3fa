"""Small runs of the digits, and what makes two run folders the same."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import rebatch
from rebatch.recipes._run import run
from rebatch.records import RunFolder, read_json, read_lines
from rebatch.sweeps import Identity

SOURCE = str(Path(rebatch.__file__).parent.parent)


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """One thread, and child processes that find the package."""
    torch.set_num_threads(1)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setenv("PYTHONPATH", SOURCE)


@pytest.fixture(scope="session")
def train() -> Callable[..., Path]:
    """Make a run in this process, below a folder as a sweep would, and return its own folder."""

    def trained(identity: Identity, out: Path, **more: Any) -> Path:
        torch.set_num_threads(1)
        folder = out / identity.folder
        settings = {"device": "cpu", "overrides": identity.overrides, "resume": True, **more}
        run(identity.case, seed=identity.seed, out=folder, **settings)
        return folder

    return trained


@pytest.fixture(scope="session")
def records() -> Callable[[Path], dict[str, Any]]:
    """Everything a run wrote but its times."""

    def read(path: Path) -> dict[str, Any]:
        folder = RunFolder(path)
        timeless = [without(line, "seconds") for line in read_lines(folder.metrics)]
        weights = {file.name: file.read_bytes() for file in folder.snapshots.iterdir()}
        files = sorted(file.name for file in path.iterdir())
        described = without(read_json(folder.run), "started")
        result = without(read_json(folder.result), "seconds")
        return {
            "run": described,
            "result": result,
            "metrics": timeless,
            "weights": weights,
            "files": files,
        }

    return read


def without(record: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in record.items() if key != name}
