"""How many runs at once, and on which GPU each of them."""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

MOST = 8
"""Runs at once on one GPU; beyond this the gain measured on an H200 was lost in noise."""
DRIVER = "nvidia-smi"
SIGNS = (Path("/dev/kfd"), Path("/dev/nvidiactl"))
"""What AMD's driver, or NVIDIA's without its tool, has where there is a GPU."""
PATIENCE = 60.0
"""Seconds in which the driver answers, or is taken not to."""


class Gpu(NamedTuple):
    """A GPU and its memory in MiB."""

    number: int
    used: int
    total: int
    uuid: str = ""


def parse_gpus(text: str) -> tuple[Gpu, ...]:
    """Read what ``nvidia-smi`` prints; lines without the memory in numbers are left out.

    >>> parse_gpus("0, 4, 143771, GPU-5e1")
    (Gpu(number=0, used=4, total=143771, uuid='GPU-5e1'),)
    """
    lines = [[part.strip() for part in line.split(",")] for line in text.splitlines()]
    whole = [line for line in lines if len(line) == 4 and all(map(str.isdigit, line[:3]))]
    return tuple(Gpu(int(a), int(b), int(c), uuid) for a, b, c, uuid in whole)


def read_gpus() -> tuple[Gpu, ...]:
    """Return the GPUs that this process may use, none where there is no driver."""
    said = ask("index", "memory.used", "memory.total", "uuid")
    return visible(parse_gpus(said), os.environ.get("CUDA_VISIBLE_DEVICES"))


def ask(*names: str) -> str:
    """Return what the driver says of its GPUs, a line each; nothing where none answers."""
    if shutil.which(DRIVER) is None:
        return ""
    line = [DRIVER, f"--query-gpu={','.join(names)}", "--format=csv,noheader,nounits"]
    try:
        done = subprocess.run(line, capture_output=True, text=True, check=False, timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        return ""
    return done.stdout if done.returncode == 0 else ""


def visible(gpus: Sequence[Gpu], chosen: str | None) -> tuple[Gpu, ...]:
    """Return the GPUs that ``CUDA_VISIBLE_DEVICES`` leaves over, in its order.

    >>> [gpu.number for gpu in visible([Gpu(0, 0, 9), Gpu(1, 0, 9, "GPU-5e1")], "GPU-5e,0")]
    [1, 0]
    """
    if chosen is None:
        return tuple(gpus)
    names = [name.strip() for name in chosen.split(",") if name.strip()]
    return tuple(
        gpu
        for name in names
        for gpu in gpus
        if name == str(gpu.number) or (name.startswith("GPU-") and gpu.uuid.startswith(name))
    )


def meant(gpus: Sequence[Gpu], device: str) -> tuple[Gpu, ...]:
    """Return the GPUs that a device may mean: all of them for ``auto`` and ``cuda``.

    >>> [gpu.number for gpu in meant([Gpu(0, 0, 9), Gpu(1, 0, 9)], "cuda:1")]
    [1]
    """
    kind, _, number = device.partition(":")
    if kind not in ("auto", "cuda"):
        return ()
    return tuple(gpus[int(number) :][:1]) if number.isdigit() else tuple(gpus)


def is_unlisted(device: str) -> bool:
    """Say whether runs find a GPU that `read_gpus` does not: AMD's, or a slice of one (MIG).

    >>> [is_unlisted(device) for device in ("cpu", "cuda", "cuda:1")]
    [False, True, True]
    """
    if device != "auto":
        return device.partition(":")[0] != "cpu"
    signs = os.environ.get("CUDA_VISIBLE_DEVICES") or any(sign.exists() for sign in SIGNS)
    return bool(signs) and _torch_finds_one()


def _torch_finds_one() -> bool:
    """Ask torch in a process of its own: a sweep itself does without, and this takes seconds."""
    line = [sys.executable, "-c", "import torch; raise SystemExit(not torch.cuda.is_available())"]
    try:
        return subprocess.run(line, capture_output=True, timeout=PATIENCE).returncode == 0
    except subprocess.TimeoutExpired:
        return True


def slots(jobs: int, gpus: Sequence[Gpu]) -> list[dict[str, str]]:
    """Return the environment of each run at once: which of several GPUs is its own.

    Runs on the CPU have one thread whatever ``jobs`` is, because the number of threads can change
    the last digit of a sum and a sweep must not depend on how many runs go at once.

    >>> slots(3, [Gpu(0, 0, 9), Gpu(1, 0, 9)])[2]["CUDA_VISIBLE_DEVICES"]
    '0'
    """
    if not gpus:
        return [{"OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "1")} for _ in range(jobs)]
    if len(gpus) == 1:
        return [{} for _ in range(jobs)]
    # CUDA may count GPUs from the fastest one on, while the driver's tool counts along the bus.
    order = {"CUDA_DEVICE_ORDER": "PCI_BUS_ID"}
    return [
        {**order, "CUDA_VISIBLE_DEVICES": str(gpus[job % len(gpus)].number)} for job in range(jobs)
    ]


def automatic_jobs(gpus: Sequence[Gpu], *, has_mps: bool, cores: int) -> int:
    """Return the most runs at once: one a GPU, or on a single one up to 8 under MPS.

    Without MPS the kernels of two processes take turns, so a second run on a GPU gains nothing.

    >>> automatic_jobs([Gpu(0, 0, 9)], has_mps=True, cores=16)
    8
    >>> automatic_jobs([], has_mps=False, cores=2)
    2
    """
    if len(gpus) == 1:
        return MOST if has_mps else 1
    return len(gpus) or min(cores, MOST)


def runs_that_fit(free: int, peak: int) -> int:
    """Return how many runs of a peak fit in free memory, at least 1 and at most 8.

    >>> runs_that_fit(80_000, 15_000), runs_that_fit(80_000, 90_000), runs_that_fit(80_000, 0)
    (5, 1, 8)
    """
    return MOST if peak <= 0 else max(1, min(MOST, free // peak))


class Room:
    """Whether one more run fits on a GPU, judged by what those under way have come to use."""

    def __init__(self, before: Gpu) -> None:
        """Take the memory as it is before the first run."""
        self.before = before
        self.peak = 0

    def allows(self, under_way: int, now: Gpu) -> bool:
        """Say whether one more fits beside those under way, of which one has written a record.

        The highest use seen counts: a run that has just started does not use all it will.
        """
        self.peak = max(self.peak, (now.used - self.before.used) // under_way)
        return under_way < runs_that_fit(self.before.total - self.before.used, self.peak)
