"""One run: from a case to a finished folder."""

import platform
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import torch

import rebatch
from rebatch.engine.ensemble import evaluate_snapshots
from rebatch.engine.holding import hold
from rebatch.engine.job import Job, Listener, Watch
from rebatch.engine.launch import launched, local_device
from rebatch.engine.loop import train
from rebatch.engine.precision import autocast
from rebatch.engine.ranks import ALONE, Ranks
from rebatch.engine.shortage import shortage_told
from rebatch.engine.snapshots import list_members
from rebatch.engine.state import Progress
from rebatch.engine.stopping import Stopped
from rebatch.engine.workers import worker_fault
from rebatch.errors import InputError, RunError, positive_int
from rebatch.recipes._build import Built, build, snapshots_of
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
    engine: str = "auto",
    data_root: Path | None = None,
    overrides: Sequence[str] = (),
    resume: bool = False,
    checkpoint_every: float = 60.0,
    listeners: Sequence[Listener] = (),
    watch: Callable[[Job], Watch] | None = None,
) -> dict[str, Any]:
    """Train a case into ``out`` and return its result; with ``resume`` go on where it stopped.

    Where a launcher such as ``torchrun`` started several processes, they make one run together.
    """
    folder = RunFolder(out)
    described = describe(case, seed, overrides)
    chosen = local_device(device)
    with shortage_told(), launched(chosen, seed) as ranks, ExitStack() as stack:
        _demand_same(ranks, described, folder, chosen, resume=resume)
        ranks.first_does(lambda: stack.enter_context(hold(out)))
        done, going_on = ranks.first_does(lambda: _taken(folder, described, resume=resume))
        if done is not None:
            return done
        built = ranks.all_do(
            lambda: build(
                case, seed=seed, device=chosen, data_root=data_root, ranks=ranks, engine=engine
            )
        )
        ranks.demand_same({"data": built.plan.fingerprint})
        made_with = {**versions(chosen, ranks), "engine": built.learner.engine}
        start = {**described, **made_with, "status": RUNNING}
        ranks.first_does(lambda: write_json(folder.run, start))
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
            listeners=listeners if ranks.is_first else (),
            course=case.course(built.plan.amount),
            policy=case.policy,
            due=partial(snapshots_of, case.recipe),
        )
        if watch is not None and ranks.is_first:
            job.watch = watch(job)
        with _status_kept(folder, writes=ranks.is_first):
            progress = train(job, resume=going_on)
            result = _result(described, built, progress, folder, chosen)
            ranks.first_does(lambda: write_json(folder.result, result))
        ranks.first_does(lambda: _finish(folder))
        return result


def _demand_same(
    ranks: Ranks,
    described: dict[str, Any],
    folder: RunFolder,
    device: torch.device,
    *,
    resume: bool,
) -> None:
    """Refuse ranks that were told to do different things, or are of different versions."""
    told = {name: value for name, value in described.items() if name != "settings"}
    made_with = {"rebatch": rebatch.__version__, "torch": torch.__version__}
    where = {"out": str(folder.path), "resume": resume, "device": device.type}
    ranks.demand_same({**told, **made_with, **where, **described["settings"]})


def _taken(
    folder: RunFolder, described: dict[str, Any], *, resume: bool
) -> tuple[dict[str, Any] | None, bool]:
    """Return the result if the run is done, and whether there is a checkpoint to go on from."""
    folder.drop_drafts()
    done = _take(folder, described, resume=resume)
    if done is not None:
        _finish(folder)
    return done, resume and folder.has_checkpoint


def _finish(folder: RunFolder) -> None:
    """Close the records of a run that has its result: again, where a kill came in between."""
    if read_json(folder.run).get("status") != FINISHED:
        folder.set_status(FINISHED)
    folder.drop_checkpoints()


@contextmanager
def _status_kept(folder: RunFolder, *, writes: bool) -> Iterator[None]:
    """Write down how a run ends that does not finish."""
    try:
        yield
    except BaseException as error:
        fault = worker_fault(error)
        stopped = isinstance(error, Stopped | KeyboardInterrupt)
        status = INTERRUPTED if stopped else FAILED
        with suppress(RunError):  # where the disk is full, what failed first is worth more
            if writes:
                folder.set_status(status, error=str(fault or error))
        if fault is not None:
            raise fault from error
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


def versions(device: torch.device, ranks: Ranks = ALONE) -> dict[str, Any]:
    """Return what the run was made with."""
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else platform.machine()
    return {
        "device": str(device),
        "device_name": name,
        "rebatch": rebatch.__version__,
        "torch": torch.__version__,
        "python": platform.python_version(),
        "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "ranks": ranks.size,
    }


def _take(folder: RunFolder, described: dict[str, Any], *, resume: bool) -> dict[str, Any] | None:
    """Check that the folder is free, or holds this very run; return the result if it is done."""
    if not folder.run.exists():
        for path in (
            folder.metrics,
            folder.plan,
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
            verb = "are" if name.endswith("s") else "is"
            raise InputError(
                f"out must hold the run to resume: its {name} {verb} {_short(found.get(name))}, "
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
    members = learner.ranks.first_does(lambda: list_members(folder.snapshots))
    ensemble = None
    if members:
        context = autocast(learner.precision, learner.device)
        ensemble = evaluate_snapshots(learner.model, learner.task, members, context)
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
