"""One run: from a case to a finished folder."""

import platform
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import torch

import rebatch
from rebatch import Plan
from rebatch.engine.ensemble import evaluate_snapshots
from rebatch.engine.holding import hold
from rebatch.engine.job import Job, Listener, Watch
from rebatch.engine.loop import train
from rebatch.engine.precision import autocast, choose_device
from rebatch.engine.snapshots import list_snapshots
from rebatch.engine.state import Progress
from rebatch.engine.stopping import Stopped
from rebatch.errors import InputError, RunError, positive_int
from rebatch.recipes._build import Built, build
from rebatch.recipes._case import Case
from rebatch.records import (
    FAILED,
    FINISHED,
    INTERRUPTED,
    RUNNING,
    RunFolder,
    read_json,
    write_json,
)


def run(
    case: Case,
    *,
    seed: int,
    out: Path,
    device: str = "auto",
    data_root: Path | None = None,
    overrides: Sequence[str] = (),
    resume: bool = False,
    checkpoint_every: float = 60.0,
    listeners: Sequence[Listener] = (),
    watch: Callable[[Plan], Watch] | None = None,
) -> dict[str, Any]:
    """Train a case into ``out`` and return its result; with ``resume`` go on where it stopped."""
    folder = RunFolder(out)
    described = describe(case, seed, overrides)
    with hold(out):
        folder.drop_drafts()
        done = _take(folder, described, resume=resume)
        if done is not None:
            _finish(folder)
            return done
        going_on = resume and folder.has_checkpoint
        chosen = choose_device(device)
        built = build(case, seed=seed, device=chosen, data_root=data_root)
        write_json(folder.run, {**described, **versions(chosen), "status": RUNNING})
        job = Job(
            built.learner,
            built.plan,
            case.rate_at,
            folder,
            identity=described,
            snapshots=built.snapshots,
            momentum=case.recipe.momentum,
            log_every=case.recipe.log_every,
            checkpoint_every=checkpoint_every,
            listeners=listeners,
        )
        if watch is not None:
            job.watch = watch(built.plan)
        with _status_kept(folder):
            progress = train(job, resume=going_on)
            result = _result(described, built, progress, folder, chosen)
            write_json(folder.result, result)
        _finish(folder)
        return result


def _finish(folder: RunFolder) -> None:
    """Close the records of a run that has its result: again, where a kill came in between."""
    if read_json(folder.run).get("status") != FINISHED:
        folder.set_status(FINISHED)
    folder.drop_checkpoints()


@contextmanager
def _status_kept(folder: RunFolder) -> Iterator[None]:
    """Write down how a run ends that does not finish."""
    try:
        yield
    except BaseException as error:
        stopped = isinstance(error, Stopped | KeyboardInterrupt)
        with suppress(RunError):  # where the disk is full, what failed first is worth more
            folder.set_status(INTERRUPTED if stopped else FAILED, error=str(error))
        if isinstance(error, torch.cuda.OutOfMemoryError):
            raise RunError(f"memory does not suffice: {error}") from error
        raise


def describe(case: Case, seed: int, overrides: Sequence[str]) -> dict[str, Any]:
    """Return what makes a run the same run, and its whole recipe."""
    return {
        "recipe": case.recipe.name,
        "schedule": case.code,
        "seed": positive_int("seed", seed, at_least=0),
        "variant": case.variant,
        "overrides": sorted("=".join(map(str.strip, text.split("=", 1))) for text in overrides),
        "settings": case.recipe.to_dict(),
    }


def versions(device: torch.device) -> dict[str, Any]:
    """Return what the run was made with."""
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else platform.machine()
    return {
        "device": str(device),
        "device_name": name,
        "rebatch": rebatch.__version__,
        "torch": torch.__version__,
        "python": platform.python_version(),
        "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }


def _take(folder: RunFolder, described: dict[str, Any], *, resume: bool) -> dict[str, Any] | None:
    """Check that the folder is free, or holds this very run; return the result if it is done."""
    if not folder.run.exists():
        for path in (
            folder.metrics,
            folder.checkpoint,
            folder.previous_checkpoint,
            folder.snapshots,
            folder.result,
        ):
            if path.exists():
                raise InputError(f"out must be a folder without records, got {path}")
        return None
    found = read_json(folder.run)
    if not resume:
        raise InputError(f"out must be a folder without a run, or use --resume, got {folder.path}")
    for name, value in described.items():
        if _plain(found.get(name)) != _plain(value):
            raise InputError(
                f"out must hold the run to resume: its {name} is {_short(found.get(name))}, "
                f"got {_short(value)}"
            )
    return read_json(folder.result) if folder.result.exists() else None


def _plain(value: Any) -> Any:
    """JSON knows no tuples."""
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return {key: _plain(item) for key, item in value.items()} if isinstance(value, dict) else value


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) < 60 else "another one"


def _result(
    described: dict[str, Any],
    built: Built,
    progress: Progress,
    folder: RunFolder,
    device: torch.device,
) -> dict[str, Any]:
    learner = built.learner
    snapshots = list_snapshots(folder.snapshots)
    ensemble = None
    if snapshots:
        context = autocast(learner.precision, learner.device)
        ensemble = evaluate_snapshots(learner.model, learner.task, snapshots, context)
    identity = {name: described[name] for name in described if name != "settings"}
    best = {**(progress.best or {}), "optimistic": learner.task.selects_by.startswith("test_")}
    return {
        **identity,
        "updates": progress.update,
        "seconds": round(progress.seconds, 1),
        "device": versions(device)["device_name"],
        "final": progress.final,
        "best": best,
        "best_on_test": progress.extremes,
        "ensemble": ensemble,
    }
