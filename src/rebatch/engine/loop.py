"""The training loop: walks the plan, update by update, and writes down what happens."""

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from signal import Signals

from rebatch.engine.adapting import adapt, begin
from rebatch.engine.checkpoint import restore_checkpoint, save_checkpoint
from rebatch.engine.job import Job, Record
from rebatch.engine.lines import line
from rebatch.engine.precision import autocast
from rebatch.engine.snapshots import FINAL, save_snapshot, snapshot_name
from rebatch.engine.state import Progress
from rebatch.engine.stopping import BrokenOff, Stopped, StopRequest, stop_requests
from rebatch.engine.task import Batch, own_columns, samples, whole
from rebatch.errors import RunError
from rebatch.records import LineLog


class NotFinite(RunError):
    """The loss, its gradient, a weight or a figure is no longer a number."""


def train(job: Job, *, resume: bool = False) -> Progress:
    """Train to the end of the plan; with ``resume`` from the last checkpoint on."""
    ranks = job.learner.ranks
    progress = ranks.all_do(lambda: restore_checkpoint(job)) if resume else Progress()
    ranks.demand_same({"update of the checkpoint": progress.update})
    progress.memory = own_columns(progress.memory, ranks)
    ranks.copy_first(list(job.learner.model.state_dict().values()))
    with _log(job, progress) as log, stop_requests() as stop:
        begin(job, progress)
        training = _Training(job, progress, log, stop)
        while progress.epoch < math.ceil(job.plan.epochs):
            if job.plan.updates_in(progress.epoch):
                training.run_epoch()
                training.finish_epoch()
                training.adapt()
            progress.begin(progress.epoch + 1)
        training.save()
        training.save_snapshot(FINAL)
    return progress


@contextmanager
def _log(job: Job, progress: Progress) -> Iterator[LineLog | None]:
    """Open the log, on the one rank that writes."""
    if not job.learner.ranks.is_first:
        yield None
        return
    with LineLog(job.folder.metrics, keep=progress.log_length) as log:
        yield log


class _Training:
    """A run under way."""

    def __init__(
        self, job: Job, progress: Progress, log: LineLog | None, stop: StopRequest
    ) -> None:
        self.job, self.progress, self.log, self.stop = job, progress, log, stop
        self.ranks = job.learner.ranks
        self.saved = time.monotonic()
        self.started = self.saved - progress.seconds

    def run_epoch(self) -> None:
        """Make the updates of the epoch that are still to come."""
        job, progress = self.job, self.progress
        job.learner.model.train()
        for batch in job.learner.task.batches(progress.epoch, progress.done):
            rate = job.rate_of(progress, progress.done)
            due = (progress.update + 1) % job.log_every == 0
            measure = due or job.measures(progress)
            self._update(job.learner.own_part(batch), rate, measure=measure)
            job.watch(progress, rate)
            self._snapshot_if_due()
            if due:
                self._demand_finite()
                self._tell(line(job, progress, "updates", rate))
            self._save_if_due()
        planned = job.plan.updates_in(progress.epoch)
        if progress.done != planned:
            raise RunError(f"epoch {progress.epoch} gave {progress.done} of {planned} updates")

    def finish_epoch(self) -> None:
        """Judge the weights and write the line of the epoch."""
        self._demand_finite()
        job, progress, learner = self.job, self.progress, self.job.learner
        figures = self._evaluate()
        if not all(map(math.isfinite, figures.values())):
            raise self._not_finite("an evaluation figure")
        self._look_at_clock()
        record = line(job, progress, "epoch", job.rate_of(progress, progress.done - 1))
        train = {name: value for name, value in record.items() if name.startswith("train_")}
        progress.judge({**train, **figures}, learner.task.selects_by)
        self._tell({**record, **figures})

    def adapt(self) -> None:
        """Let a policy decide how to go on, and keep the weights where it ends a cycle."""
        known = self.job.snapshots
        decision = adapt(self.job, self.progress)
        if decision is not None:
            self._tell(decision)
        if self.progress.update not in known:
            self._snapshot_if_due()

    def _evaluate(self) -> dict[str, float]:
        """Judge the weights; a process alone breaks off when it is asked to stop."""
        learner = self.job.learner
        learner.model.eval()
        context = autocast(learner.precision, learner.device)
        if self.ranks.size > 1:  # the others would wait for their part
            return learner.task.evaluate([learner.model], context)
        try:
            with self.stop.may_break():
                return learner.task.evaluate([learner.model], context)
        except BrokenOff:
            self.save()
            assert self.stop.signal is not None
            raise Stopped(self.stop.signal, self.progress.update) from None

    def save(self) -> None:
        """Write a checkpoint: all ranks give, the first one writes, and the others wait."""
        self._demand_finite(weights=True)
        progress, learner = self.progress, self.job.learner
        if self.log is not None:
            progress.log_length = self.log.length
        columns = self.job.plan.batch_size_at(max(progress.update - 1, 0))
        whole = replace(progress, memory=learner.whole_memory(progress.memory, columns))
        self.ranks.first_does(lambda: save_checkpoint(self.job, whole))
        self.saved = time.monotonic()

    def save_snapshot(self, name: str) -> None:
        """Write the weights, if they are numbers."""
        self._demand_finite(weights=True)
        path, model = self.job.folder.snapshots / name, self.job.learner.model
        self.ranks.first_does(lambda: save_snapshot(path, model))

    def _update(self, batch: Batch, rate: float, *, measure: bool) -> None:
        progress, learner = self.progress, self.job.learner
        dim = learner.task.batch_dim
        if batch.reset:
            memory = learner.task.memory(learner.model, whole(batch, dim))
            progress.memory = own_columns(memory, self.ranks)
        self.ranks.seed_update(progress.update)
        outcome = learner.update(batch, progress.memory, rate, measure=measure)
        progress.add(outcome, samples(batch, dim), learner.clip)
        if learner.device.type == "cpu":  # elsewhere reading the loss would stall the device
            self._demand_finite()
        self._look_at_clock()
        for note in learner.pop_reports():
            self._write({"kind": "note", "update": progress.update, "note": note})

    def _snapshot_if_due(self) -> None:
        number = self.job.snapshots.get(self.progress.update)
        if number is not None:
            self.save_snapshot(snapshot_name(number))

    def _save_if_due(self) -> None:
        late = time.monotonic() - self.saved > self.job.checkpoint_every
        # What one rank is asked to do, or finds due by its clock, all do after the same update.
        number, due = self.ranks.highest(self.stop.signal or 0, late)
        if number or due:
            self.save()
        if number:
            raise Stopped(Signals(number), self.progress.update)

    def _demand_finite(self, *, weights: bool = False) -> None:
        if not self.progress.tally.is_finite():
            raise self._not_finite("the loss or its gradient")
        if weights and not self.job.learner.is_finite():
            raise self._not_finite("a weight")

    def _not_finite(self, what: str) -> NotFinite:
        at = f"epoch {self.progress.epoch}, update {self.progress.update - 1}"
        kept = "; the last checkpoint is kept" if self.job.folder.checkpoint.exists() else ""
        advice = "lower the learning rate or clip the gradient"
        return NotFinite(f"{what} is no longer a finite number at {at}: {advice}{kept}")

    def _look_at_clock(self) -> None:
        self.progress.seconds = time.monotonic() - self.started

    def _tell(self, record: Record) -> None:
        self._write(record)
        for listener in self.job.listeners:
            listener(record)

    def _write(self, record: Record) -> None:
        if self.log is not None:
            self.log.write(record)
