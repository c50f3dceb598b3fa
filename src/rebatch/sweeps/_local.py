"""Runs on this machine, each in a process of its own."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from rebatch.records import RunFolder
from rebatch.sweeps._gpus import Room, automatic_jobs, read_gpus, slots, with_device
from rebatch.sweeps._identity import Identity
from rebatch.sweeps._loop import Launch
from rebatch.sweeps._mps import has_mps, mps
from rebatch.sweeps._process import Options, RunProcess
from rebatch.sweeps._standing import tail

AUTO = "auto"


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
        if self.room is None or not self._taken:
            return True
        has_records = all(tail(RunFolder(process.out).metrics) for process in self._taken)
        now = read_gpus()
        return bool(now) and self.room.allows(len(self._taken), now[0], has_records=has_records)


@contextmanager
def local(out: Path, options: Options, jobs: int | None) -> Iterator[Launch]:
    """Prepare this machine for ``jobs`` runs at once, or as many as gain something."""
    gpus = () if options.device == "cpu" else read_gpus()
    most = jobs or automatic_jobs(gpus, has_mps=has_mps(), cores=len(os.sched_getaffinity(0)))
    environments = [with_device(slot, options.device) for slot in slots(most, gpus)]
    if len(gpus) != 1 or most == 1:
        yield Local(out, options, environments)
        return
    with mps() as extra:
        room = None if jobs else Room(gpus[0])
        yield Local(out, options, [{**slot, **extra} for slot in environments], room)
