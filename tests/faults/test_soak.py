"""Long runs in small: sizes change, checkpoints come, and nothing grows."""

import contextlib
import gc
import os
from pathlib import Path

import pytest
import torch
from torch import nn

import rebatch
from rebatch.engine.checkpoint import restore_checkpoint, save_checkpoint
from rebatch.engine.images import ImageTask
from rebatch.engine.job import Job
from rebatch.engine.learner import Learner
from rebatch.engine.loop import train
from rebatch.engine.state import Progress
from rebatch.records import RunFolder

CPU = torch.device("cpu")
IMAGES = torch.zeros(6, 1, 4, 4, dtype=torch.uint8), torch.arange(6) % 2


def made(out: Path, epochs: int) -> Job:
    """A job whose batch size changes every epoch: 2, 4, 2, 4, …"""
    plan = rebatch.plan(rebatch.cyclical(2, width=1, steps=2), epochs=epochs, examples=6)
    torch.manual_seed(0)
    model = nn.Sequential(nn.Flatten(), nn.Linear(16, 2))
    task = ImageTask(IMAGES, {"test": IMAGES}, plan, seed=0, device=CPU)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    folder = RunFolder(out)
    return Job(Learner(model, optimizer, task, CPU), plan, lambda position, history: 0.01, folder)


def resident() -> int:
    """Bytes of memory that this process holds."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


class Gauge:
    """Memory and open files, looked at along the way."""

    def __init__(self, every: int) -> None:
        self.every, self.seen = every, list[tuple[int, int]]()

    def look(self, number: int) -> None:
        if number % self.every == 0:
            self.seen.append((resident(), open_files()))

    @property
    def grown(self) -> tuple[int, int]:
        """Bytes and files between the second look, when all is warm, and the last."""
        (bytes_before, files_before), (bytes_after, files_after) = self.seen[1], self.seen[-1]
        return bytes_after - bytes_before, files_after - files_before


def change_sizes(out: Path, changes: int) -> tuple[int, int]:
    job, gauge, sizes = made(out, changes + 1), Gauge(max(changes // 8, 1)), [0, 0]

    def watch(progress: Progress, rate: float) -> None:
        size = job.plan.batch_size_at(progress.update - 1)
        if size != sizes[0]:
            sizes[:] = size, sizes[1] + 1
            gauge.look(sizes[1])

    job.watch, job.log_every = watch, 10**9
    train(job)
    assert sizes[1] == changes + 1
    return gauge.grown


def checkpoint(out: Path, times: int) -> tuple[int, int]:
    job, gauge = made(out, 2), Gauge(max(times // 8, 1))
    progress = Progress()
    for number in range(1, times + 1):
        save_checkpoint(job, progress)
        progress = restore_checkpoint(job)
        progress.update = number
        gauge.look(number)
    assert sorted(os.listdir(out)) == ["checkpoint-previous.pt", "checkpoint.pt"]
    return gauge.grown


needs_proc = pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs /proc")


@needs_proc
def test_the_gauge_sees_what_grows(tmp_path):
    gauge, kept = Gauge(1), []
    with contextlib.ExitStack() as stack:
        for number in range(4):
            kept.append(b"x" * 2**26)  # too large for memory that lies free already
            stack.enter_context((tmp_path / f"{number}").open("w"))
            gauge.look(number)
    memory, files = gauge.grown
    assert memory > 2**26
    assert files == 2


@needs_proc
def test_a_hundred_changes_and_checkpoints_leave_no_file_open(in_memory):
    assert change_sizes(in_memory / "a", 100)[1] == 0
    assert checkpoint(in_memory / "b", 50)[1] == 0


@needs_proc
@pytest.mark.faults
def test_ten_thousand_changes_of_size_do_not_grow(in_memory):
    memory, files = change_sizes(in_memory / "run", 10_000)
    print(f"\n10,000 size changes: {memory / 2**20:.1f} MiB and {files} open files more")
    assert files == 0
    assert memory < 16 * 2**20


@needs_proc
@pytest.mark.faults
def test_a_thousand_checkpoints_do_not_grow(in_memory):
    memory, files = checkpoint(in_memory / "run", 1_000)
    print(f"\n1,000 checkpoints, each read back: {memory / 2**20:.1f} MiB, {files} open files more")
    assert files == 0
    assert memory < 4 * 2**20
