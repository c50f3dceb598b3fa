"""Runs whose plan a policy makes while they train."""

import os
import signal
from dataclasses import dataclass

import pytest
import torch
from safetensors.torch import load_file

from rebatch._course import Course
from rebatch.engine.adversarial import Adversarial
from rebatch.engine.loop import train
from rebatch.engine.snapshots import list_snapshots, snapshot_epochs
from rebatch.engine.stopping import Stopped
from rebatch.errors import RunError
from rebatch.policies import Decision, Policy
from rebatch.records import read_json, read_lines

EPOCHS = 5


@dataclass(frozen=True, repr=False)
class swinging(Policy):
    """Up for two epochs at a lower rate, then down again where a cycle ends: 1, 2, 1, 1 epochs."""

    needs_noise = True

    def completes(self, seen, outlook):
        return True

    def next(self, seen, outlook):
        down = seen[-1].step == 1
        gauges = {"noise_scale": seen[-1].noise_scale or 0.0, "loss": seen[-1].train_loss}
        if down:
            return Decision(self.base, "enough", ends_cycle=True, gauges=gauges)
        return Decision(2 * self.base, "more", 2, rate_factor=0.5, gauges=gauges)


@dataclass(frozen=True, repr=False)
class curious(swinging):
    """Looks at the curvature at the base."""

    def wants_eigenvalue(self, batch_size, outlook):
        return batch_size == self.base


def given(job, policy=swinging):
    """Hand the plan of a job over to a policy."""
    job.policy = policy(job.plan.base, measure_every=2)
    job.course = Course.begun(job.policy, job.plan.amount, EPOCHS)
    job.plan, job.snapshots = job.course.plan, {}
    return job


@pytest.fixture(params=["pictures", "text"])
def make(request, picture_job, text_job):
    """Make a job that a policy plans, with what a resumed run could get wrong."""

    def made(policy=swinging, **more):
        if request.param == "text":
            return given(text_job("BL", epochs=1, **more), policy)
        task = {"adversarial": Adversarial(share=0.3), "epochs": EPOCHS}
        return given(picture_job("BL", epochs=1, task=task, **more), policy)

    return made


def weights(job):
    return {name: value.clone() for name, value in job.learner.model.state_dict().items()}


def same(one, other) -> bool:
    return all(torch.equal(value, other[name]) for name, value in one.items())


def lines(job, *kinds):
    """The log without its clock."""
    found = [line for line in read_lines(job.folder.metrics) if not kinds or line["kind"] in kinds]
    clocks = ("seconds", "eigenvalue_seconds")
    return [{name: line[name] for name in line if name not in clocks} for line in found]


def snapshots(job):
    return {path.name: path.read_bytes() for path in list_snapshots(job.folder.snapshots)}


def everything(job):
    return lines(job), snapshots(job), read_json(job.folder.plan)


def stop_at(update):
    def watch(progress, rate):
        if progress.update == update:
            os.kill(os.getpid(), signal.SIGTERM)

    return watch


def test_the_plan_grows_until_the_budget_is_spent(make):
    job = make()
    progress = train(job)
    base = job.policy.base
    rows = [(row.batch_size, row.epochs, row.ends_cycle) for row in job.plan.rows]
    assert rows == [(base, 1, False), (2 * base, 2, True), (base, 1, False), (2 * base, 1, True)]
    assert progress.update == job.plan.updates
    assert [line["epoch"] for line in lines(job, "epoch")] == [0, 1, 2, 3, 4]
    assert read_json(job.folder.plan) == job.course.to_dict()


def test_every_decision_is_written_down_with_what_it_was_made_on(picture_job):
    job = given(picture_job("BL", epochs=1))
    train(job)
    first, second, third = lines(job, "decision")
    epoch = lines(job, "epoch")[0]
    assert {name: first[name] for name in first if name != "gauges"} == {
        "kind": "decision",
        "epoch": 0,
        "update": 5,
        "batch_size": 8,
        "next_batch_size": 16,
        "epochs": 2,
        "ends_cycle": False,
        "rate_factor": 0.5,
        "reason": "more",
    }
    assert first["gauges"]["loss"] == pytest.approx(epoch["train_loss"])
    assert (second["batch_size"], second["next_batch_size"], second["ends_cycle"]) == (16, 8, True)
    assert third["epochs"] == 1  # two were asked for, one is left
    reasons = [decision["reason"] for decision in read_json(job.folder.plan)["decisions"]]
    assert reasons == ["training starts at the base", "more", "enough", "more"]


def test_the_loss_of_a_row_is_that_of_all_its_epochs(make):
    job = make()
    progress = train(job)
    epochs = [line["train_loss"] for line in lines(job, "epoch")]
    told = [seen.train_loss for seen in progress.seen]
    assert told == pytest.approx([epochs[0], (epochs[1] + epochs[2]) / 2, *epochs[3:]])


def test_the_noise_of_a_row_is_measured_in_that_row_alone(picture_job):
    job = given(picture_job("BL", epochs=1))
    samples, inner = [], job.learner.update

    def update(*given, measure):
        outcome = inner(*given, measure=measure)
        samples.append((measure, outcome.noise))
        return outcome

    job.learner.update = update
    progress = train(job)
    assert [measure for measure, _ in samples[:11]] == [True] * 11  # rows of 5 and 6 updates
    noise = [sample for _, sample in samples[5:11] if sample.big_size > sample.small_size]
    ratio = sum(float(one.variance) for one in noise) / sum(float(one.signal) for one in noise)
    assert progress.seen[1].noise_scale == (pytest.approx(ratio) if ratio > 0 else None)


def test_the_rate_of_a_row_is_the_rule_times_its_factor(make):
    job, used = make(), []
    rule = job.rate(0, ())
    job.watch = lambda progress, rate: used.append(rate / rule)
    train(job)
    of_epochs = [line["learning_rate"] / rule for line in lines(job, "epoch")]
    assert of_epochs == [1, 0.5, 0.5, 1, 0.5]
    expected = [
        factor
        for row, factor in zip(job.plan.rows, (1, 0.5, 1, 0.5), strict=True)
        for _ in range(row.updates)
    ]
    assert used == expected


def test_a_snapshot_holds_the_weights_before_the_batch_drops(make):
    job, after = make(), {}
    job.watch = lambda progress, rate: after.update({progress.update: weights(job)})
    train(job)
    ends = [row.first_update + row.updates for row in job.plan.rows if row.ends_cycle]
    paths = list_snapshots(job.folder.snapshots)
    assert len(paths) == len(ends) == 2
    for path, update in zip(paths, ends, strict=True):
        assert same(load_file(path), after[update])


def test_only_validation_data_is_told_to_a_policy(picture_job, text_job):
    pictures = given(picture_job("BL", epochs=1))
    assert [seen.validation for seen in train(pictures).seen] == [None] * 4
    text = given(text_job("BL", epochs=1, out="text"))
    told = [seen.validation for seen in train(text).seen]
    judged = [line["valid_perplexity"] for line in lines(text, "epoch")]
    assert told == [judged[0], judged[2], judged[3], judged[4]]


def test_curvature_is_measured_where_it_is_asked_for_and_changes_nothing(make):
    plain = make()
    assert [seen.eigenvalue for seen in train(plain).seen] == [None] * 4
    looking = make(curious, out="looking")
    found = [seen.eigenvalue for seen in train(looking).seen]
    assert [value is not None and value > 0 for value in found] == [True, False, True, False]
    assert same(weights(plain), weights(looking))
    decisions = [line for line in read_lines(looking.folder.metrics) if line["kind"] == "decision"]
    assert [line.get("eigenvalue_seconds", 0) > 0 for line in decisions] == [True, False, True]


def test_a_recorded_course_is_trained_again_bit_for_bit(make):
    job = make()
    train(job)
    again = make(out="again")
    recorded = Course.from_dict(read_json(job.folder.plan))
    again.learner.task.follow(recorded.plan)
    again.policy, again.course, again.plan = None, recorded, recorded.plan
    again.snapshots = again.due(recorded.plan)
    train(again)
    assert same(weights(job), weights(again))
    assert lines(again) == lines(job, "updates", "epoch")
    assert snapshots(again) == snapshots(job)


def test_a_run_may_be_stopped_after_any_update_and_goes_on_bit_for_bit(make):
    whole = make(out="whole")
    expected = train(whole)
    for update in range(1, whole.plan.updates):
        job = make(out="parts", watch=stop_at(update))
        with pytest.raises(Stopped):
            train(job, resume=update > 1)
    rest = make(out="parts")
    progress = train(rest, resume=True)
    assert same(weights(whole), weights(rest))
    assert everything(whole) == everything(rest)
    assert (progress.seen, progress.row) == (expected.seen, expected.row)


class Killed(BaseException):
    """Stands for a process that is gone without a word."""


@pytest.mark.parametrize("number", [0, 1, 2])
def test_a_run_killed_between_a_decision_and_the_next_checkpoint_decides_the_same(make, number):
    whole = make(out="whole")
    train(whole)
    heard = []

    def die(record):
        heard.extend([record] if record["kind"] == "decision" else [])
        if len(heard) == number + 1:
            raise Killed

    job = make(out="parts", checkpoint_every=0.0, listeners=[die])
    with pytest.raises(Killed):
        train(job)
    assert len(read_json(job.folder.plan)["decisions"]) == number + 2  # beyond the checkpoint
    rest = make(out="parts")
    train(rest, resume=True)
    assert same(weights(whole), weights(rest))
    assert everything(whole) == everything(rest)


def test_a_resume_does_not_decide_again_what_the_checkpoint_holds(make):
    job = make(watch=stop_at(12))
    with pytest.raises(Stopped):
        train(job)
    rest, asked = make(), []

    class asking(swinging):
        def next(self, seen, outlook):
            asked.append(outlook.done)
            return super().next(seen, outlook)

    rest.policy = asking(rest.policy.base, measure_every=2)
    train(rest, resume=True)
    assert 1 not in asked
    assert asked[-1] == 4


def test_snapshots_of_decisions_that_were_not_kept_are_taken_away(picture_job):
    job = given(picture_job("BL", epochs=1, watch=stop_at(7)))
    with pytest.raises(Stopped):
        train(job)
    stale = job.folder.snapshots / "cycle-004.safetensors"
    stale.parent.mkdir()
    stale.write_bytes(b"of a cycle that never was")
    rest = given(picture_job("BL", epochs=1))
    train(rest, resume=True)
    assert [path.name for path in list_snapshots(rest.folder.snapshots)] == [
        *("cycle-000.safetensors", "cycle-001.safetensors")
    ]


def test_a_checkpoint_of_another_course_is_refused(picture_job):
    job = given(picture_job("BL", epochs=1, watch=stop_at(7)))
    with pytest.raises(Stopped):
        train(job)
    other = given(picture_job("BL", epochs=1, base=10))
    with pytest.raises(RunError, match=r"checkpoint\.pt does not fit this run: plan must go on"):
        train(other, resume=True)


def test_snapshots_at_given_epochs_are_taken_as_the_plan_reaches_them(picture_job):
    job = given(picture_job("BL", epochs=1))
    job.due = lambda plan: snapshot_epochs(plan, tuple(e for e in (2, 4) if e <= plan.epochs))
    train(job)
    assert [path.name for path in list_snapshots(job.folder.snapshots)] == [
        *("cycle-000.safetensors", "cycle-001.safetensors")
    ]
