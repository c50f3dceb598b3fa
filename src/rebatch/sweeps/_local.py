"""Runs on this machine, each in a process of its own."""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from rebatch._cores import cores
from rebatch.sweeps._gpus import Gpu, Room, automatic_jobs, is_unlisted, meant, read_gpus, slots
from rebatch.sweeps._identity import Identity
from rebatch.sweeps._loop import Launch
from rebatch.sweeps._mps import has_mps, mps
from rebatch.sweeps._process import Options, RunProcess

ASK_EVERY = 2.0


class Local:
    """Starts runs while there is a free slot and, on a shared GPU, room in its memory."""

    def __init__(
        self,
        out: Path,
        options: Options,
        environments: Sequence[Mapping[str, str]],
        room: Room | None = None,
    ) -> None:
        self.out, self.options, self.room = out, options, room
        self._free = list(environments)
        self._asked = 0.0
        self._taken: dict[RunProcess, Mapping[str, str]] = {}

    def __call__(self, identity: Identity) -> RunProcess | None:
        """Start a run, or return nothing while there is no room."""
        for process in [process for process in self._taken if process.ended]:
            self._free.append(self._taken.pop(process))
        if not self._free or not self._has_memory():
            return None
        slot = self._free.pop(0)
        process = RunProcess(identity, self.out / identity.folder, self.options, slot)
        self._taken[process] = slot
        return process

    def _has_memory(self) -> bool:
        """Ask the driver, every other second at most, once a run has shown what it needs."""
        if self.room is None or not self._taken:
            return True
        has_records = any(process.has_written for process in self._taken)
        if not has_records or time.monotonic() - self._asked < ASK_EVERY:
            return False
        self._asked = time.monotonic()
        now = [gpu for gpu in read_gpus() if gpu.number == self.room.before.number]
        return bool(now) and self.room.allows(len(self._taken), now[0])


@contextmanager
def local(out: Path, options: Options, jobs: int | None) -> Iterator[Launch]:
    """Prepare this machine for ``jobs`` runs at once, or as many as gain something."""
    gpus = meant(read_gpus(), options.device)
    most = jobs or _automatic(gpus, options)
    environments = slots(most, gpus)
    if len(gpus) != 1 or most == 1:
        yield Local(out, options, environments)
        return
    with mps() as extra:
        room = None if jobs else Room(gpus[0])
        yield Local(out, options, [{**slot, **extra} for slot in environments], room)


def _automatic(gpus: Sequence[Gpu], options: Options) -> int:
    """Return the most runs at once: one where a GPU's memory and number are not known."""
    if not gpus and is_unlisted(options.device):
        return 1
    return automatic_jobs(gpus, has_mps=has_mps(), cores=cores())
