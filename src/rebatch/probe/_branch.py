"""Training up to the point where the branches leave, and along one branch."""

import math
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import torch

from rebatch import Plan
from rebatch.engine.checkpoint import restore_checkpoint, save_checkpoint
from rebatch.engine.gauges import GradientNoise
from rebatch.engine.job import Job, Watch
from rebatch.engine.learner import Learner
from rebatch.engine.loop import NotFinite, train
from rebatch.engine.state import Progress
from rebatch.engine.task import Task
from rebatch.probe._curve import Curve, reached
from rebatch.probe._design import Design
from rebatch.recipes import Case
from rebatch.recipes._build import build
from rebatch.records import RunFolder

Follow = Callable[[str, Plan], Watch]
MEASURED = 50
"""About how many updates of a branch measure the gradient noise."""


@dataclass(frozen=True)
class Lab:
    """What all branches share."""

    design: Design
    device: torch.device
    folder: Path
    data: Any
    """The data set, in memory."""
    data_root: Path | None = None

    def learner(self, case: Case, repeat: int) -> tuple[Learner, Plan]:
        """Return a learner that never sees test data, with its samples in an order of its own."""
        built = build(
            case,
            seed=self.design.seed + repeat,
            device=self.device,
            data_root=self.data_root,
            data=self.data,
        )
        shield(built.learner.task)
        return built.learner, built.plan


def shield(task: Task) -> None:
    """Take the test data away; without validation data the training loss picks the best epoch."""
    held_out = cast(dict[str, Any], vars(task)["held_out"])
    for name in [name for name in held_out if name.startswith("test")]:
        del held_out[name]
    if not held_out:
        task.selects_by = "train_loss"


def warm_up(lab: Lab, follow: Follow) -> Job:
    """Train to the point where the branches leave; go on where an earlier call was stopped."""
    case = lab.design.warm_up_case()
    learner, plan = lab.learner(case, 0)
    folder = RunFolder(lab.folder / "warm-up")
    identity = {**lab.design.describe(), "part": "warm-up"}
    job = Job(learner, plan, case.rate_at, folder, identity=identity)
    job.watch = follow("warm-up", plan)
    train(job, resume=folder.has_checkpoint)
    shutil.rmtree(folder.snapshots)
    return job


def start(lab: Lab, warm: Job, batch_size: int, repeat: int) -> Job:
    """Return a branch that is about to leave, its checkpoint written.

    Weights, optimiser and position are those of the warm-up; the first repeat draws the samples
    and random numbers that the warm-up would have gone on with, the others their own.
    """
    case, factor = lab.design.case(batch_size), lab.design.factor(batch_size)
    learner, plan = lab.learner(case, repeat)
    progress = restore_checkpoint(replace(warm, learner=learner))
    if repeat:
        torch.manual_seed(lab.design.seed + repeat)
    folder = RunFolder(lab.folder / "branch")
    shutil.rmtree(folder.path, ignore_errors=True)
    job = Job(
        learner,
        plan,
        lambda position, history: factor * case.rate_at(position, history),
        folder,
        log_every=measure_every(plan.updates - progress.update),
        checkpoint_every=math.inf,
    )
    noise = GradientNoise(decay=0.999)  # nearly the plain mean over the branch
    save_checkpoint(job, replace(progress, noise=noise, log_length=0, seconds=0.0))
    return job


def measure_every(updates: int) -> int:
    """Return after how many updates of a branch the gradient noise is measured again."""
    return max(1, updates // MEASURED)


def run_branch(
    lab: Lab, warm: Job, batch_size: int, repeat: int, follow: Follow
) -> Mapping[str, Any]:
    """Train one branch and return its record; one that loses its numbers has no loss."""
    job, curve = start(lab, warm, batch_size, repeat), Curve()
    show = follow(f"batch {batch_size}, repeat {repeat + 1}", job.plan)

    def watch(progress: Progress, rate: float) -> None:
        curve.watch(progress, rate)
        show(progress, rate)

    job.watch = watch
    record: dict[str, Any] = {
        "kind": "branch",
        "batch_size": batch_size,
        "repeat": repeat,
        "updates": job.plan.updates - warm.plan.updates,
        "rate_factor": lab.design.factor(batch_size),
    }
    try:
        progress = train(job, resume=True)
    except NotFinite:
        return {**record, "loss": None}
    finally:
        shutil.rmtree(job.folder.path)
    losses = {name: value for name, value in progress.final.items() if name.endswith("_loss")}
    losses.pop("train_loss")
    return {
        **record,
        "loss": reached(curve.points()),
        "held_out": losses,
        "gradient_signal": float(progress.noise.signal),
        "gradient_variance": float(progress.noise.variance),
        "seconds": round(progress.seconds, 3),
    }
