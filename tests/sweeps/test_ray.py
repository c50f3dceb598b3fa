"""On a real Ray cluster of this machine."""

import os
import signal
import threading
import time
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

import rebatch
from rebatch.sweeps import Identity, Needs, Options, Stopped, sweep_on_ray
from rebatch.sweeps import _ray as module

ray = pytest.importorskip("ray")

RUN = Identity("digits", "CBS-1-2", 0, None, ("epochs=2",))
LONG = Identity("digits", "CBS-1-2", 0, None, ("epochs=40",))


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(Path(rebatch.__file__).parent.parent))
        patch.setenv("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        patch.setenv("RAY_AUTH_MODE", "disabled")
        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
        yield
        ray.shutdown()


def swept(run: Identity, out: str, **more: Any) -> None:
    options = Options("cpu", None, checkpoint_every=0.05)
    sweep_on_ray([run], out, options=options, console=Console(file=StringIO()), **more)


def worker_of(out: Path) -> int | None:
    """The Ray worker of this very process whose child trains below a folder."""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_bytes()
            if b"rebatch.sweeps._child" in line and str(out).encode() in line:
                line_of_parents = parents(int(path.parent.name))
                if os.getpid() in line_of_parents:
                    return line_of_parents[0]
        except OSError:
            continue
    return None


def parents(process: int) -> list[int]:
    found = []
    while process > 1:
        status = Path(f"/proc/{process}/stat").read_text()
        process = int(status.rpartition(")")[2].split()[1])
        found.append(process)
    return found


def when_it_has_a_checkpoint(folder: Path, act) -> threading.Thread:
    def wait() -> None:
        limit = time.monotonic() + 60
        while not (folder / "checkpoint.pt").exists() and time.monotonic() < limit:
            time.sleep(0.01)
        act()

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    return thread


def test_ray_gives_the_same_records_as_a_run_here(cluster, tmp_path, train, records):
    swept(RUN, str(tmp_path / "ray"))
    here = train(RUN, tmp_path / "here")
    assert records(tmp_path / "ray" / RUN.folder) == records(here)


@pytest.mark.slow
def test_a_run_whose_worker_is_killed_goes_on_from_its_checkpoint(
    cluster, tmp_path, train, records
):
    out, killed = tmp_path / "ray", []

    def kill() -> None:
        killed.append(worker_of(out))
        os.kill(killed[0], signal.SIGKILL)

    thread = when_it_has_a_checkpoint(out / LONG.folder, kill)
    swept(LONG, str(out), needs=Needs(retries=1))
    thread.join()
    assert killed[0]
    here = train(LONG, tmp_path / "here")
    assert records(out / LONG.folder) == records(here)


@pytest.mark.slow
def test_a_killed_worker_goes_on_from_another_store(cluster, tmp_path, train, records, monkeypatch):
    monkeypatch.setattr(module, "PUSH_EVERY", 0.1)
    store, killed = tmp_path / "store", []

    def kill() -> None:
        killed.append(worker_of(Path("/rebatch-")))
        os.kill(killed[0], signal.SIGKILL)

    thread = when_it_has_a_checkpoint(store / LONG.folder, kill)
    swept(LONG, f"file://{store}", needs=Needs(retries=1))
    thread.join()
    assert killed[0]
    here = train(LONG, tmp_path / "here")
    assert records(store / LONG.folder) == records(here)


@pytest.mark.slow
def test_a_worker_that_is_lost_for_good_is_a_failure(cluster, tmp_path):
    out = tmp_path / "ray"
    thread = when_it_has_a_checkpoint(
        out / LONG.folder, lambda: os.kill(worker_of(out), signal.SIGKILL)
    )
    with pytest.raises(rebatch.errors.RunError, match=r"1 run failed: .*: lost by Ray: "):
        swept(LONG, str(out), needs=Needs(retries=0))
    thread.join()


@pytest.mark.slow
def test_ctrl_c_waits_for_the_checkpoint_and_the_same_command_goes_on(
    cluster, tmp_path, train, records
):
    out = tmp_path / "ray"
    thread = when_it_has_a_checkpoint(
        out / LONG.folder, lambda: os.kill(os.getpid(), signal.SIGINT)
    )
    with pytest.raises(Stopped):
        swept(LONG, str(out))
    thread.join()
    assert worker_of(out) is None
    swept(LONG, str(out))
    here = train(LONG, tmp_path / "here")
    assert records(out / LONG.folder) == records(here)
