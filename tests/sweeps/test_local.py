"""With stand-ins for NVIDIA's programs, which need a GPU: scripts that answer as they would."""

import sys
import tempfile

import pytest

from rebatch.sweeps import Options, _local
from rebatch.sweeps._local import local


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """Make a machine with some GPUs, with or without MPS."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)

    def script(name: str, text: str) -> None:
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)

    def made(gpus: int, *, mps: bool = False) -> None:
        lines = [f"echo {number}, 100, 80100, GPU-{number}" for number in range(gpus)]
        script("nvidia-smi", "\n".join(lines))
        if mps:
            script("nvidia-cuda-mps-control", "exit 0")

    return made


def slots(out, device: str = "auto", jobs: int | None = None) -> list[dict[str, str]]:
    with local(out, Options(device), jobs) as launch:
        return list(launch._free)


def test_several_gpus_get_one_run_each(machine, tmp_path):
    machine(3, mps=True)
    assert [slot["CUDA_VISIBLE_DEVICES"] for slot in slots(tmp_path)] == ["0", "1", "2"]


def test_one_gpu_is_shared_under_mps(machine, tmp_path):
    machine(1, mps=True)
    found = slots(tmp_path)
    assert len(found) == 8
    assert {tuple(slot) for slot in found} == {
        ("CUDA_MPS_PIPE_DIRECTORY", "CUDA_MPS_LOG_DIRECTORY")
    }


def test_one_gpu_without_mps_is_not_shared(machine, tmp_path):
    machine(1)
    assert slots(tmp_path) == [{}]


def test_a_gpu_that_the_driver_does_not_list_takes_one_run(machine, tmp_path, monkeypatch):
    machine(1, mps=True)
    monkeypatch.setattr(_local, "cores", lambda: 6)
    monkeypatch.setattr(sys, "executable", "/bin/true")  # torch finds one
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "MIG-9f2c")
    assert len(slots(tmp_path)) == len(slots(tmp_path, "cuda")) == 1
    monkeypatch.setattr(sys, "executable", "/bin/false")
    assert len(slots(tmp_path)) == len(slots(tmp_path, "cpu")) == 6
    assert len(slots(tmp_path, "cuda", 3)) == 3


def test_a_number_of_jobs_is_taken_at_its_word(machine, tmp_path):
    machine(1)
    assert slots(tmp_path, jobs=3) == [{}, {}, {}]


def test_runs_on_the_cpu_leave_the_gpus_alone(machine, tmp_path):
    machine(2, mps=True)
    assert slots(tmp_path, "cpu", 2) == [{"OMP_NUM_THREADS": "1"}] * 2
