import sys

import pytest
import torch

from rebatch.sweeps import _gpus
from rebatch.sweeps._gpus import (
    Gpu,
    Room,
    automatic_jobs,
    is_unlisted,
    meant,
    parse_gpus,
    read_gpus,
    runs_that_fit,
    slots,
    visible,
)

TWO = (Gpu(0, 0, 80_000, "GPU-a1"), Gpu(1, 0, 80_000, "GPU-b2"))


def test_the_driver_answers_in_lines():
    assert parse_gpus("0, 512, 143771, GPU-a1\n1, 0, 143771, GPU-b2\n") == (
        Gpu(0, 512, 143_771, "GPU-a1"),
        Gpu(1, 0, 143_771, "GPU-b2"),
    )


@pytest.mark.parametrize("text", ["", "No devices were found", "0, [N/A], 143771, GPU-a1"])
def test_an_answer_without_memory_is_no_gpu(text):
    assert parse_gpus(text) == ()


@pytest.mark.parametrize("program", ["exec sleep 9", "echo 0, 1, 2, GPU-a1; exit 9"])
def test_a_driver_that_does_not_answer_has_no_gpus(program, tmp_path, monkeypatch):
    (tmp_path / "nvidia-smi").write_text(f"#!/bin/sh\n{program}\n")
    (tmp_path / "nvidia-smi").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setattr(_gpus, "PATIENCE", 0.2)
    assert read_gpus() == ()


@pytest.mark.parametrize(
    ("chosen", "left"),
    [(None, [0, 1]), ("1", [1]), ("1, 0", [1, 0]), ("GPU-b", [1]), ("", []), ("-1", [])],
)
def test_only_visible_gpus_count(chosen, left):
    assert [gpu.number for gpu in visible(TWO, chosen)] == left


@pytest.mark.parametrize(
    ("gpus", "has_mps", "cores", "jobs"),
    [((), False, 2, 2), ((), False, 64, 8), (TWO, True, 64, 2), (TWO[:1], True, 4, 8)],
)
def test_the_machine_decides_how_many_runs_at_once(gpus, has_mps, cores, jobs):
    assert automatic_jobs(gpus, has_mps=has_mps, cores=cores) == jobs


def test_without_mps_one_gpu_takes_one_run():
    assert automatic_jobs(TWO[:1], has_mps=False, cores=64) == 1


def test_runs_are_dealt_over_the_gpus():
    assert [slot["CUDA_VISIBLE_DEVICES"] for slot in slots(3, TWO)] == ["0", "1", "0"]


def test_runs_on_the_cpu_have_one_thread_however_many_there_are(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS")
    assert slots(1, ()) == [{"OMP_NUM_THREADS": "1"}]
    assert slots(2, ()) == [{"OMP_NUM_THREADS": "1"}] * 2


def test_threads_that_were_asked_for_stay(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "4")
    assert slots(1, ()) == [{"OMP_NUM_THREADS": "4"}]


@pytest.mark.parametrize(
    ("device", "left"), [("auto", [0, 1]), ("cuda", [0, 1]), ("cuda:1", [1]), ("cpu", [])]
)
def test_a_device_with_a_number_is_taken_at_its_word(device, left):
    assert [gpu.number for gpu in meant(TWO, device)] == left


@pytest.mark.parametrize(
    ("chosen", "sign", "answer", "found"),
    [
        ("MIG-9f2c", False, "exit 0", True),
        (None, True, "exit 0", True),
        (None, True, "exec sleep 9", True),
        (None, True, "exit 1", False),
        (None, False, "exit 0", False),
        ("", False, "exit 0", False),
    ],
)
def test_torch_is_asked_for_a_gpu_that_the_driver_does_not_list_where_there_are_signs(
    chosen, sign, answer, found, tmp_path, monkeypatch
):
    (tmp_path / "python").write_text(f"#!/bin/sh\n{answer}\n")
    (tmp_path / "python").chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    if "sleep" in answer:
        monkeypatch.setattr(_gpus, "PATIENCE", 0.5)
    monkeypatch.setattr(_gpus, "SIGNS", (tmp_path / "none", tmp_path if sign else tmp_path / "no"))
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if chosen is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", chosen)
    assert is_unlisted("auto") == found


@pytest.mark.skipif(torch.cuda.is_available(), reason="needs a machine without a CUDA device")
def test_torch_finds_no_gpu_where_there_is_none(tmp_path, monkeypatch):
    monkeypatch.setattr(_gpus, "SIGNS", (tmp_path,))
    assert not is_unlisted("auto")


def test_runs_on_the_only_gpu_need_not_be_told():
    assert slots(2, TWO[:1]) == [{}, {}]


@pytest.mark.parametrize(
    ("free", "peak", "runs"), [(80_000, 9_000, 8), (80_000, 30_000, 2), (10_000, 30_000, 1)]
)
def test_as_many_runs_as_fit_but_at_most_eight(free, peak, runs):
    assert runs_that_fit(free, peak) == runs


def test_no_more_runs_start_than_the_highest_use_seen_allows():
    room = Room(Gpu(0, 1_000, 81_000))
    assert room.allows(1, Gpu(0, 21_000, 81_000))  # 20,000 each: four fit
    assert room.allows(3, Gpu(0, 31_000, 81_000))
    assert not room.allows(4, Gpu(0, 41_000, 81_000))
