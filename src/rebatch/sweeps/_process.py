"""One run as a process: how it is called, watched, stopped, and what it left."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from rebatch.errors import RunError
from rebatch.records import RunFolder, write_bytes
from rebatch.sweeps._identity import Identity

ERROR = "error.txt"
"""Beside a run's records: why it failed."""
LAUNCHER = ("RANK", "WORLD_SIZE")
"""What a launcher of many processes says to a sweep, and no run of it is to hear."""


@dataclass(frozen=True)
class Outcome:
    """How a run ended."""

    code: int
    error: str = ""

    @property
    def in_use(self) -> bool:
        """Whether the folder was refused because another process is at work in it."""
        return self.code == 1 and " is in use by " in self.error  # not memory "in use"

    @property
    def stopped(self) -> bool:
        """Whether the run was asked to stop and can go on later."""
        return self.code in (128 + signal.SIGINT, 128 + signal.SIGTERM, -signal.SIGTERM)


@dataclass(frozen=True)
class Options:
    """What all runs of a sweep share."""

    device: str = "auto"
    data: Path | None = None
    checkpoint_every: float = 60.0
    engine: str = "auto"


class Worker(Protocol):
    """A run under way, here or elsewhere."""

    def poll(self) -> Outcome | None:
        """Return how the run ended, or nothing while it goes on."""

    def stop(self) -> None:
        """Ask the run to write a checkpoint and end."""

    def kill(self) -> None:
        """End the run without asking."""


def arguments(identity: Identity, out: Path, options: Options) -> list[str]:
    """Return the command line of a run, after ``rebatch``.

    >>> arguments(Identity("digits", "BL", 0), Path("run"), Options())[:4]
    ['train', 'digits', '--schedule', 'BL']
    """
    line = ["train", identity.recipe, "--schedule", identity.schedule]
    line += ["--seed", str(identity.seed), "--out", str(out), "--resume"]
    line += ["--device", options.device, "--checkpoint-every", str(options.checkpoint_every)]
    line += ["--engine", options.engine]
    line += [] if identity.variant is None else ["--variant", identity.variant]
    line += [] if options.data is None else ["--data", str(options.data)]
    return line + [part for change in identity.overrides for part in ("--set", change)]


class RunProcess:
    """A run in a process that ends when this one does."""

    def __init__(
        self, identity: Identity, out: Path, options: Options, extra: Mapping[str, str]
    ) -> None:
        self.out, self.ended, self._started = out, False, time.time()
        self._said = tempfile.TemporaryFile()  # noqa: SIM115
        ours, self._pipe = os.pipe()
        line = arguments(identity, out, options)
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "rebatch.sweeps._child", str(ours), *line],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self._said,
                pass_fds=[ours],
                env={**_alone(), **extra},
                start_new_session=True,  # Ctrl-C reaches the sweep alone, which passes it on once
            )
        finally:
            os.close(ours)

    @property
    def has_written(self) -> bool:
        """Whether this process has come as far as to write down how its training goes."""
        try:
            return RunFolder(self.out).metrics.stat().st_mtime > self._started
        except OSError:
            return False

    def poll(self) -> Outcome | None:
        """Return how the run ended, and keep its error beside its records."""
        code = self._process.poll()
        if code is None:
            return None
        os.close(self._pipe)
        self.ended = True
        outcome = Outcome(code, "" if code == 0 else self._reason(code))
        self._said.close()
        keep_error(self.out, outcome)
        return outcome

    def stop(self) -> None:
        """Ask for a checkpoint and the end."""
        self._process.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End the run at once; its last checkpoint stays."""
        self._process.kill()
        self._process.wait()

    def _reason(self, code: int) -> str:
        self._said.seek(0)
        lines = self._said.read()[-10_000:].decode(errors="replace").strip().splitlines()
        if code < 0:
            return f"killed by {signal.Signals(-code).name}"
        return lines[-1].removeprefix("rebatch: ") if lines else f"exit code {code}"


def _alone() -> dict[str, str]:
    """Return the environment of a run that has no other ranks to look for."""
    return {name: value for name, value in os.environ.items() if name not in LAUNCHER}


def keep_error(out: Path, outcome: Outcome) -> None:
    """Write down why a run failed; take the note away once it has not."""
    if outcome.in_use or outcome.stopped:
        return
    try:
        if outcome.code:
            write_bytes(out / ERROR, f"{outcome.error}\n".encode())
        else:
            (out / ERROR).unlink(missing_ok=True)
    except (OSError, RunError):  # where nothing can be written, the sweep still says it
        pass
