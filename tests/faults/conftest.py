"""Where faults are made: in memory if the system has such a folder, since a kill loses no disk."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

import rebatch

SOURCE = str(Path(rebatch.__file__).parent.parent)


@pytest.fixture(autouse=True)
def _one_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture
def in_memory(tmp_path: Path) -> Iterator[Path]:
    shared = Path("/dev/shm")
    if not os.access(shared, os.W_OK):
        yield tmp_path
        return
    folder = Path(tempfile.mkdtemp(prefix="rebatch-", dir=shared))
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="session")
def environment() -> dict[str, str]:
    """What a process of ours is started with."""
    return {**os.environ, "PYTHONPATH": SOURCE, "OMP_NUM_THREADS": "1"}
