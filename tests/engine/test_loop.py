import json
import math
import os
import signal

import pytest
import torch
from safetensors.torch import load_file

from rebatch.data import crop_and_flip
from rebatch.engine.adversarial import Adversarial
from rebatch.engine.loop import train
from rebatch.engine.snapshots import snapshot_updates
from rebatch.engine.stopping import Stopped
from rebatch.errors import RunError
from rebatch.records import read_lines

PICTURES = {
    "task": {"augment": crop_and_flip(padding=2), "adversarial": Adversarial(share=0.3)},
    "code": "CBS-1-2",
}
TEXT = {"code": "CBS-2-2"}


def weights(job) -> dict[str, torch.Tensor]:
    return {name: value.clone() for name, value in job.learner.model.state_dict().items()}


def same(one, other) -> bool:
    return all(torch.equal(value, other[name]) for name, value in one.items())


def lines(job) -> list[dict]:
    """The log without its clock."""
    found = list(read_lines(job.folder.metrics))
    return [{name: line[name] for name in line if name != "seconds"} for line in found]


def stop_at(update: int, number: int = signal.SIGTERM):
    """Ask this process to stop after an update."""

    def watch(progress, rate):
        if progress.update == update:
            os.kill(os.getpid(), number)

    return watch


@pytest.fixture(params=["pictures", "text"])
def make(request, picture_job, text_job):
    """Make a job with everything in it that a resumed run could get wrong."""
    jobs = {"pictures": (picture_job, PICTURES), "text": (text_job, TEXT)}
    maker, settings = jobs[request.param]

    def made(**more):
        job = maker(**settings, **more)
        job.snapshots = snapshot_updates(job.plan)
        return job

    return made


# Pictures: 5 updates, then 3, again; text: 11, 11, 6, 6.  The third update of each is logged.
@pytest.mark.parametrize("update", [1, 4, 5, 7, 11])
def test_a_stopped_run_goes_on_bit_for_bit(make, update):
    whole = make(out="whole")
    expected = train(whole)
    stopped = make(out="parts", watch=stop_at(update))
    with pytest.raises(Stopped, match=rf"stopped by SIGTERM after update {update}:"):
        train(stopped)
    rest = make(out="parts")
    progress = train(rest, resume=True)
    assert same(weights(whole), weights(rest))
    assert lines(whole) == lines(rest)
    assert progress.values() | dict.fromkeys(("seconds", "log_length")) == (
        expected.values() | dict.fromkeys(("seconds", "log_length"))
    )
    for name in ("cycle-000", "final"):
        paths = [job.folder.snapshots / f"{name}.safetensors" for job in (whole, rest)]
        assert paths[0].read_bytes() == paths[1].read_bytes()


def test_a_run_may_be_stopped_again_and_again(make):
    whole = make(out="whole")
    train(whole)
    for update in range(1, whole.plan.updates):
        job = make(out="parts", watch=stop_at(update, signal.SIGINT))
        with pytest.raises(Stopped, match="SIGINT"):
            train(job, resume=update > 1)
    rest = make(out="parts")
    train(rest, resume=True)
    assert same(weights(whole), weights(rest))
    assert lines(whole) == lines(rest)


class Killed(BaseException):
    """Stands for a process that is gone without a word."""


def test_a_killed_run_goes_on_from_its_last_checkpoint_bit_for_bit(make):
    whole = make(out="whole")
    train(whole)
    job = make(out="parts", checkpoint_every=0.0)

    def watch(progress, rate):
        if progress.update == 6:
            job.checkpoint_every = math.inf  # the last one is after update 5
        if progress.update == 9:
            raise Killed

    job.watch = watch
    with pytest.raises(Killed):
        train(job)
    with job.folder.metrics.open("a") as log:
        log.write('{"kind": "upd')
    rest = make(out="parts")
    train(rest, resume=True)
    assert same(weights(whole), weights(rest))
    assert lines(whole) == lines(rest)


def test_the_same_seed_gives_the_same_run(make):
    one = make(out="one")
    train(one)
    two = make(out="two")
    train(two)
    assert same(weights(one), weights(two))
    assert lines(one) == lines(two)


def test_checkpoints_come_in_time_however_short_the_epochs_are(picture_job):
    job = picture_job(epochs=2, checkpoint_every=0.0)
    seen = []
    job.watch = lambda progress, rate: seen.append(job.folder.checkpoint.exists())
    train(job)
    assert seen == [False] + [True] * 7


def test_snapshots_hold_the_weights_of_the_update_that_ends_the_cycle(make):
    job = make()
    seen = {}
    job.watch = lambda progress, rate: seen.update({progress.update: weights(job)})
    train(job)
    due = snapshot_updates(job.plan)
    assert len(due) in (1, 2)
    for update, number in due.items():
        stored = load_file(job.folder.snapshots / f"cycle-{number:03}.safetensors")
        assert same(stored, seen[update])
        assert job.plan.rows[job.plan.row_at(update - 1)].ends_cycle
    assert same(load_file(job.folder.snapshots / "final.safetensors"), weights(job))
    assert len(list(job.folder.snapshots.iterdir())) == len(due) + 1


def test_the_final_weights_are_kept_where_no_cycle_ends(picture_job):
    job = picture_job("BL", epochs=1)
    train(job)
    assert [path.name for path in job.folder.snapshots.iterdir()] == ["final.safetensors"]


def test_losses_fall(make):
    job = make()
    train(job)
    losses = [line["train_loss"] for line in lines(job) if line["kind"] == "epoch"]
    assert losses[-1] < 0.95 * losses[0]


def test_the_rate_is_asked_for_where_training_is_and_what_it_has_seen(picture_job):
    asked = []

    def rate(position, history):
        asked.append((position, len(history)))
        return 0.0625 / (1 + len(history))

    job = picture_job(epochs=2, rate=rate)
    train(job)
    updates = [(0.0, 0), (0.2, 0), (0.4, 0), (0.6, 0), (0.8, 0)]
    # The line of an epoch tells the rate of its last update.
    assert asked[:6] == [*updates, (0.8, 0)]
    assert asked[6:] == [(1.0, 1), (1 + 1 / 3, 1), (1 + 2 / 3, 1), (1 + 2 / 3, 1)]
    assert [line["learning_rate"] for line in lines(job) if line["kind"] == "epoch"] == [
        0.0625,
        0.03125,
    ]


def test_a_loss_that_is_no_number_stops_the_run_and_says_where(make):
    job = make(checkpoint_every=0.0)
    good = job.rate
    job.rate = lambda position, history: good(position, history) if position < 1 else 3e38
    with pytest.raises(RunError) as error:
        train(job)
    before, after = str(error.value).split(" at epoch 1, update ")
    assert before.endswith(" is no longer a finite number")
    number, advice = after.split(": ")
    assert advice == "lower the learning rate or clip the gradient; the last checkpoint is kept"
    kept = torch.load(job.folder.checkpoint, weights_only=True)
    assert kept["progress"]["update"] == int(number)  # the checkpoint of the update before
    assert all(bool(value.isfinite().all()) for value in kept["model"].values())
    assert [line["epoch"] for line in lines(job) if line["kind"] == "epoch"] == [0]


def test_figures_that_are_no_numbers_stop_the_run(picture_job):
    job = picture_job("BL", epochs=1)
    inner = job.learner.task.evaluate
    job.learner.task.evaluate = lambda *given: {**inner(*given), "test_loss": math.nan}
    with pytest.raises(RunError, match=r"^an evaluation figure is no longer a finite number at"):
        train(job)


def test_a_feed_that_falls_short_of_the_plan_is_noticed(picture_job):
    job = picture_job("BL", epochs=1)
    inner = job.learner.task.batches
    job.learner.task.batches = lambda epoch, done: list(inner(epoch, done))[:-1]
    with pytest.raises(RunError, match=r"^epoch 0 gave 4 of 5 updates$"):
        train(job)


def test_an_epoch_without_an_update_is_passed_over(picture_job):
    import rebatch
    from rebatch.engine.images import ImageTask

    job = picture_job("BL", epochs=1)
    schedule = rebatch.cyclical(40, width=1, steps=2)
    job.plan = rebatch.plan(schedule, epochs=3, examples=40, drop_last=True)
    images = tuple(next(iter(job.learner.task.held_out.values())))
    task = ImageTask(images, {"test": images}, job.plan, seed=0, device=job.learner.device)
    job.learner.task = task
    progress = train(job)
    assert progress.update == 2
    assert [line["epoch"] for line in lines(job) if line["kind"] == "epoch"] == [0, 2]


def test_what_memory_forced_upon_a_run_is_noted(picture_job):
    job = picture_job("BL", epochs=1, base=16)
    inner = job.learner.task.loss

    def loss(model, batch, memory):
        if len(batch.targets) > 8:
            raise torch.cuda.OutOfMemoryError("out of memory")
        return inner(model, batch, memory)

    job.learner.task.loss = loss
    train(job)
    note, *others = lines(job)
    assert note == {
        "kind": "note",
        "update": 1,
        "note": "out of memory: micro-batch size is now 8",
    }
    assert {line["micro_batch_size"] for line in others} == {8}
    assert {line["batch_size"] for line in others} == {16}


def test_listeners_hear_every_record_and_time_goes_on(picture_job):
    heard = []
    job = picture_job(epochs=2, listeners=[heard.append])
    train(job)
    found = list(read_lines(job.folder.metrics))
    assert json.loads(json.dumps(heard)) == found
    assert [line["kind"] for line in found] == ["updates", "epoch", "updates", "epoch"]
    seconds = [line["seconds"] for line in found]
    assert seconds == sorted(seconds)
    assert 0 < seconds[-1] < 60
