"""Runs on a Ray cluster; a run whose worker is lost goes on from its checkpoint elsewhere."""

import os
import signal
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from rebatch.errors import InputError
from rebatch.sweeps._gpus import slots
from rebatch.sweeps._identity import Identity
from rebatch.sweeps._loop import Launch, State
from rebatch.sweeps._process import Options, Outcome, RunProcess
from rebatch.sweeps._staging import Mirror, Stage, is_remote
from rebatch.sweeps._standing import Standing, standing
from rebatch.sweeps._sweep import sweep_on

PUSH_EVERY = 30.0
"""Seconds between two copies of a run's folder to another store."""


@dataclass(frozen=True)
class Needs:
    """What a run takes of the cluster."""

    cpus: float = 1.0
    gpus: float | None = None
    """None: one where the cluster has any and the device is not the CPU."""
    retries: int = 3
    """How often a run is started again whose worker was lost."""


def sweep_on_ray(
    runs: Sequence[Identity],
    out: str,
    *,
    needs: Needs | None = None,
    options: Options | None = None,
    jobs: int | None = None,
    address: str | None = None,
    console: Console | None = None,
) -> State:
    """Make every run that is not finished below ``out``, a shared folder or an address of fsspec.

    ``jobs`` limits how many are handed over at once; none leaves it to the cluster.
    """
    backend = cluster(out, needs or Needs(), options or Options(), jobs, address)
    with tempfile.TemporaryDirectory(prefix="rebatch-") as scratch:
        mirror = Mirror(out, Path(scratch))

        def look(run: Identity) -> Standing:
            there = mirror.path(run.folder) if is_remote(out) else Path(out) / run.folder
            return standing(run, there)

        return sweep_on(backend, runs, look, console)


@contextmanager
def cluster(
    out: str, needs: Needs, options: Options, jobs: int | None, address: str | None
) -> Iterator[Launch]:
    """Join the cluster, or start one on this machine, for as long as the sweep lasts."""
    ray = _library()
    ours = not ray.is_initialized()
    if ours:
        # Ray would otherwise warn that it will one day leave the GPUs of a CPU task visible.
        os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        ray.init(address=address, include_dashboard=False, log_to_driver=False)
    try:
        yield _Cluster(ray, out, needs, options, jobs)
    finally:
        if ours:
            ray.shutdown()


class _Cluster:
    """Hands runs to Ray."""

    def __init__(
        self, ray: Any, out: str, needs: Needs, options: Options, jobs: int | None
    ) -> None:
        self.ray, self.options, self.jobs = ray, options, jobs
        self.out = out if is_remote(out) else str(Path(out).absolute())
        gpus = needs.gpus
        if gpus is None:
            has_gpus = options.device != "cpu" and ray.cluster_resources().get("GPU", 0) >= 1
            gpus = 1.0 if has_gpus else 0.0
        self.extra = {} if gpus else slots(1, ())[0]
        self._task = ray.remote(
            num_cpus=needs.cpus, num_gpus=gpus, max_retries=needs.retries, max_calls=1
        )(execute)
        self._workers: list[_RayWorker] = []

    def __call__(self, identity: Identity) -> "_RayWorker | None":
        """Hand a run over, unless as many as allowed are under way."""
        self._workers = [worker for worker in self._workers if not worker.ended]
        if self.jobs is not None and len(self._workers) >= self.jobs:
            return None
        task = self._task.options(name=identity.label)
        reference = task.remote(identity, self.out, self.options, self.extra, PUSH_EVERY)
        self._workers.append(_RayWorker(self.ray, reference))
        return self._workers[-1]


class _RayWorker:
    """A run that Ray has taken over."""

    def __init__(self, ray: Any, reference: Any) -> None:
        self._ray, self._reference, self.ended = ray, reference, False

    def poll(self) -> Outcome | None:
        """Return how the run ended, or nothing while it goes on or waits for its turn."""
        ready, _ = self._ray.wait([self._reference], timeout=0)
        if not ready:
            return None
        self.ended = True
        try:
            return Outcome(*self._ray.get(self._reference))
        except self._ray.exceptions.TaskCancelledError:
            return Outcome(128 + signal.SIGTERM, "stopped")
        except self._ray.exceptions.RayError as error:
            return Outcome(1, f"lost by Ray: {str(error).strip().splitlines()[0]}")

    def stop(self) -> None:
        """Ask for a checkpoint and the end."""
        self._ray.cancel(self._reference, force=False)

    def kill(self) -> None:
        """End the worker at once, and with it the run."""
        self._ray.cancel(self._reference, force=True)


def execute(
    identity: Identity, out: str, options: Options, extra: Mapping[str, str], every: float
) -> tuple[int, str]:
    """Make one run in this worker's machine; return its exit code and error."""
    if not is_remote(out):
        return _watched(identity, Path(out) / identity.folder, options, extra)
    with tempfile.TemporaryDirectory(prefix="rebatch-") as scratch:
        stage = Stage(f"{out.rstrip('/')}/{identity.folder}", Path(scratch) / "run")
        stage.fetch()
        try:
            return _watched(identity, stage.folder, options, extra, stage, every)
        finally:
            stage.push()


def _watched(
    identity: Identity,
    folder: Path,
    options: Options,
    extra: Mapping[str, str],
    stage: Stage | None = None,
    every: float = PUSH_EVERY,
) -> tuple[int, str]:
    process = RunProcess(identity, folder, options, extra)
    pushed = time.monotonic()
    while True:
        try:
            outcome = process.poll()
            if outcome is not None:
                return outcome.code, outcome.error
            if stage is not None and time.monotonic() - pushed >= every:
                stage.push()
                pushed = time.monotonic()
            time.sleep(0.1)
        except KeyboardInterrupt:  # how Ray cancels: wait for the checkpoint
            process.stop()


def _library() -> Any:
    try:
        import ray
    except ImportError:
        raise InputError("ray must be installed, got none: pip install 'rebatch[ray]'") from None
    return ray
