"""The training loop: walks the plan, update by update, and writes down what happens."""

import math
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any


from rebatch import Plan
from rebatch.engine.checkpoint import load_checkpoint, save_checkpoint
from rebatch.engine.learner import Learner, Outcome
from rebatch.engine.precision import autocast
from rebatch.engine.snapshots import FINAL, save_snapshot, snapshot_name
from rebatch.engine.state import Progress, Tally, random_states, restore_random_states
from rebatch.engine.task import Batch, count
from rebatch.errors import RunError
from rebatch.noise import noise_scale
from rebatch.records import LineLog, RunFolder

Record = dict[str, Any]
Rate = Callable[[float, Sequence[float]], float]
"""The learning rate at a position in epochs, given the selecting metric of the epochs so far."""


class Stopped(RunError):
    """The run was asked to stop; its checkpoint is written."""


@dataclass
class Job:
    """Everything a run is made of, ready to train."""

    learner: Learner
    plan: Plan
    rate: Rate
    folder: RunFolder
    snapshots: dict[int, int] = field(default_factory=dict)
    """After how many updates a snapshot is due, and its number."""
    momentum: float = 0.0
    log_every: int = 200
    """Updates between two lines of the log; the same updates measure the gradient noise."""
    checkpoint_every: float = 60.0
    """Seconds between checkpoints."""
    listeners: Sequence[Callable[[Record], None]] = ()
    """Called with every record of the log."""
    watch: Callable[[Progress, float], None] = lambda progress, rate: None
    """Called after every update; must not read anything from the device."""


def train(job: Job, *, resume: bool = False) -> Progress:
    """Train to the end of the plan; with ``resume`` from the last checkpoint on."""
    progress = _restore(job) if resume else Progress()
    log = LineLog(job.folder.metrics, keep=progress.log_length)
    try:
        with _stop_requests() as stop:
            for epoch in range(progress.epoch, math.ceil(job.plan.epochs)):
                _run_epoch(job, progress, log, stop)
                _finish_epoch(job, progress, log)
                progress.epoch, progress.done, progress.tally = epoch + 1, 0, Tally()
                progress.memory = None
        _save(job, progress, log)
        save_snapshot(job.folder.snapshots / FINAL, job.learner.model)
    finally:
        log.close()
    return progress


def _run_epoch(job: Job, progress: Progress, log: LineLog, stop: "StopRequest") -> None:
    learner, task = job.learner, job.learner.task
    learner.model.train()
    expected = job.plan.updates_in(progress.epoch)
    saved = started = time.monotonic()
    for batch in task.batches(progress.epoch, progress.done):
        if batch.reset:
            progress.memory = task.memory(learner.model, count(batch, task.batch_dim))
        position = progress.epoch + progress.done / expected
        rate = job.rate(position, progress.history)
        due = (progress.update + 1) % job.log_every == 0
        outcome = learner.update(batch, progress.memory, rate, measure=due)
        _add(progress, outcome, batch, learner)
        now = time.monotonic()
        progress.seconds, started = progress.seconds + now - started, now
        job.watch(progress, rate)
        _snapshot_if_due(job, progress)
        if due:
            _log_updates(job, progress, log, rate)
        if stop.requested or now - saved > job.checkpoint_every:
            _save(job, progress, log)
            saved = now
        if stop.requested:
            raise Stopped(f"stopped by {stop.requested} after update {progress.update}")
    if progress.done != expected:
        raise RunError(f"epoch {progress.epoch} gave {progress.done} of {expected} updates")


def _add(progress: Progress, outcome: Outcome, batch: Batch, learner: Learner) -> None:
    samples = batch.targets.numel()
    tally = progress.tally
    tally.loss = tally.loss + outcome.loss * samples
    tally.norm = tally.norm + outcome.norm
    if outcome.correct is not None:
        tally.correct = tally.correct + outcome.correct
    if learner.clip is not None:
        tally.clipped = tally.clipped + (outcome.norm > learner.clip)
    tally.samples += samples
    tally.updates += 1
    progress.done += 1
    progress.update += 1
    progress.memory = outcome.memory
    progress.noise.add(outcome.noise)
    if learner.device.type == "cpu":  # elsewhere reading the loss would stall the device
        _demand_finite(progress)


def _demand_finite(progress: Progress) -> None:
    if not math.isfinite(float(progress.tally.loss)):
        raise RunError(
            f"the loss is no longer a finite number at epoch {progress.epoch}, update "
            f"{progress.update - 1}; the last checkpoint is kept: lower the learning rate or clip"
        )


def _snapshot_if_due(job: Job, progress: Progress) -> None:
    number = job.snapshots.get(progress.update)
    if number is not None:
        _demand_finite(progress)
        save_snapshot(job.folder.snapshots / snapshot_name(number), job.learner.model)


def _log_updates(job: Job, progress: Progress, log: LineLog, rate: float) -> None:
    _demand_finite(progress)
    _write(job, progress, log, {"kind": "updates", **_position(job, progress, rate)})


def _finish_epoch(job: Job, progress: Progress, log: LineLog) -> None:
    _demand_finite(progress)
    learner = job.learner
    started = time.monotonic()
    learner.model.eval()
    figures = learner.task.evaluate([learner.model], autocast(learner.precision, learner.device))
    progress.seconds += time.monotonic() - started
    progress.judge(figures, learner.task.selects_by)
    rate = job.rate(progress.epoch, progress.history[:-1])
    record = {"kind": "epoch", **_position(job, progress, rate), **figures}
    progress.train = {name: value for name, value in record.items() if name.startswith("train_")}
    _write(job, progress, log, record)


def _position(job: Job, progress: Progress, rate: float) -> Record:
    """Return where the run is and its gauges, as the fields that every line carries."""
    row = job.plan.rows[job.plan.row_at(progress.update - 1)]
    amount = job.plan.amount
    per_update = amount.full(row.batch_size)
    train = progress.tally.figures(counts_correct=job.learner.task.batch_dim == 0)
    if job.learner.task.batch_dim == 1:
        train["train_perplexity"] = math.exp(min(train["train_loss"], 700.0))
    return {
        "epoch": progress.epoch,
        "update": progress.update,
        "samples": job.plan.sample_at(progress.update),
        "batch_size": row.batch_size,
        "micro_batch_size": min(job.learner.micro_batch_size or row.batch_size, row.batch_size),
        "cycle": row.cycle,
        "step": row.step,
        "learning_rate": rate,
        "noise_scale": noise_scale(rate, per_update, amount.count, momentum=job.momentum),
        "gradient_noise_scale": progress.noise.scale,
        **train,
        "seconds": round(progress.seconds, 3),
    }


def _write(job: Job, progress: Progress, log: LineLog, record: Record) -> None:
    notes, job.learner.reports = job.learner.reports, []
    for note in notes:
        log.write({"kind": "note", "update": progress.update, "note": note})
    log.write(record)
    for listener in job.listeners:
        listener(record)


def _save(job: Job, progress: Progress, log: LineLog) -> None:
    if progress.tally.updates:
        _demand_finite(progress)
    progress.log_length = log.length
    learner = job.learner
    save_checkpoint(
        job.folder.checkpoint,
        {
            "plan": job.plan.fingerprint,
            "model": learner.model.state_dict(),
            "optimizer": learner.optimizer.state_dict(),
            "random": random_states(learner.device),
            "micro_batch_size": learner.micro_batch_size,
            "progress": progress.values(),
        },
    )


def _restore(job: Job) -> Progress:
    learner = job.learner
    values = load_checkpoint(job.folder.checkpoint, learner.device)
    if values.get("plan") != job.plan.fingerprint:
        raise RunError(f"{job.folder.checkpoint} is of another plan: start anew in another folder")
    try:
        learner.model.load_state_dict(values["model"])
        learner.optimizer.load_state_dict(values["optimizer"])
        learner.micro_batch_size = values["micro_batch_size"]
        progress = Progress.restored(values["progress"])
    except (KeyError, TypeError, ValueError, RuntimeError) as error:
        reason = str(error).strip().splitlines()[0]
        raise RunError(f"{job.folder.checkpoint} does not fit this run: {reason}") from None
    restore_random_states(values["random"], learner.device)
    return progress


@dataclass
class StopRequest:
    """Set by a signal, looked at after every update."""

    requested: str | None = None


@contextmanager
def _stop_requests() -> Iterator[StopRequest]:
    """Turn SIGTERM and SIGINT into a request, where this thread may receive signals."""
    stop = StopRequest()

    def ask(number: int, frame: object) -> None:
        stop.requested = signal.Signals(number).name

    kept = {}
    try:
        for number in (signal.SIGTERM, signal.SIGINT):
            kept[number] = signal.signal(number, ask)
    except ValueError:  # not the main thread: whoever runs it decides
        pass
    try:
        yield stop
    finally:
        for number, handler in kept.items():
            signal.signal(number, handler)
