import io
import math
import os
import random

import pytest
import torch

from rebatch.engine.checkpoint import restore_checkpoint, save_checkpoint
from rebatch.engine.loop import train
from rebatch.engine.seal import seal
from rebatch.engine.state import Progress
from rebatch.errors import RunError


@pytest.fixture
def saved(picture_job):
    job = picture_job()
    save_checkpoint(job, Progress(update=3, log_length=0))
    return job


def store(values, path) -> None:
    """Write any values as a checkpoint with a right checksum."""
    buffer = io.BytesIO()
    torch.save(values, buffer)
    path.write_bytes(seal(buffer.getvalue()))


def test_a_checkpoint_loads_with_weights_only_and_stands_alone(saved):
    values = torch.load(saved.folder.checkpoint, weights_only=True)
    assert set(values) == {
        *("format", "run", "plan", "course", "model", "optimizer", "random"),
        *("micro_batch_size", "progress"),
    }
    assert os.listdir(saved.folder.path) == ["checkpoint.pt"]
    assert restore_checkpoint(saved).update == 3


def test_a_missing_one_is_said(picture_job):
    with pytest.raises(RunError, match=r"checkpoint\.pt is missing: there is nothing to resume$"):
        train(picture_job(), resume=True)


def test_torn_and_foreign_bytes_are_one_line_each(saved):
    path = saved.folder.checkpoint
    whole = path.read_bytes()
    numbers = random.Random(0)
    torn = [whole[: numbers.randrange(len(whole))] for _ in range(20)]
    for content in (b"", b"PK\x03\x04", b"\x80\x04.", b"hello\n", *torn):
        path.write_bytes(content)
        with pytest.raises(RunError, match=r"checkpoint\.pt is not a whole checkpoint: ") as error:
            restore_checkpoint(saved)
        assert "\n" not in str(error.value)


def test_code_in_a_checkpoint_is_not_run(saved, tmp_path):
    class Bomb:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "boom"),)

    store({"plan": Bomb()}, saved.folder.checkpoint)
    with pytest.raises(RunError, match="is not a whole checkpoint"):
        restore_checkpoint(saved)
    assert not (tmp_path / "boom").exists()


def test_values_that_do_not_fit_are_named(saved, picture_job):
    path = saved.folder.checkpoint
    values = torch.load(path, weights_only=True)
    store([1], path)
    with pytest.raises(RunError, match=r"must hold a checkpoint, got list"):
        restore_checkpoint(saved)
    for name in ("model", "optimizer", "random", "progress"):
        store({key: value for key, value in values.items() if key != name}, path)
        with pytest.raises(RunError, match=rf"does not fit this run: '{name}'"):
            restore_checkpoint(picture_job())
    store({**values, "model": {}}, path)
    with pytest.raises(RunError, match=r"does not fit this run: Error"):
        restore_checkpoint(picture_job())


def test_another_plan_is_refused(saved, picture_job):
    with pytest.raises(RunError, match="is of another plan: start anew in another folder"):
        restore_checkpoint(picture_job(epochs=3))


def test_another_version_is_refused(saved):
    values = torch.load(saved.folder.checkpoint, weights_only=True)
    store({**values, "format": 2}, saved.folder.checkpoint)
    with pytest.raises(RunError, match=r"another version: its format must be 1, got 2$"):
        restore_checkpoint(saved)


def test_another_run_of_the_same_plan_is_refused(saved, picture_job):
    with pytest.raises(RunError, match="is of another run: start anew in another folder"):
        restore_checkpoint(picture_job(identity={"seed": 1}))


def test_every_flipped_bit_is_noticed(saved):
    path = saved.folder.checkpoint
    whole = path.read_bytes()
    numbers = random.Random(0)
    for place in [*(numbers.randrange(len(whole)) for _ in range(50)), 0, len(whole) - 1]:
        flipped = bytearray(whole)
        flipped[place] ^= 1 << numbers.randrange(8)
        path.write_bytes(flipped)
        with pytest.raises(RunError, match=r"checkpoint\.pt is not a whole checkpoint: its? "):
            restore_checkpoint(saved)


@pytest.mark.parametrize("harm", ["torn", "flipped", "foreign"])
def test_the_one_before_is_used_and_that_is_said(saved, picture_job, caplog, harm):
    folder = saved.folder
    save_checkpoint(saved, Progress(update=4))
    whole = folder.checkpoint.read_bytes()
    if harm == "foreign":
        store({**torch.load(folder.checkpoint, weights_only=True), "run": "{}!"}, folder.checkpoint)
    else:
        flipped = whole[:500] + bytes([whole[500] ^ 4]) + whole[501:]
        folder.checkpoint.write_bytes({"torn": whole[:-9], "flipped": flipped}[harm])
    harmed = folder.checkpoint.read_bytes()
    job = picture_job()
    assert restore_checkpoint(job).update == 3
    (said,) = caplog.messages
    assert said.startswith(f"{folder.checkpoint} is ")
    assert said.endswith("; going on from checkpoint-previous.pt, after update 3")
    assert job.learner.pop_reports() == [said]
    assert not folder.checkpoint.exists()  # so that the next one does not push the good one out
    assert folder.refused_checkpoint.read_bytes() == harmed


def test_a_kill_between_two_checkpoints_taking_their_places_is_nothing_to_say(saved, caplog):
    save_checkpoint(saved, Progress(update=4))
    saved.folder.checkpoint.unlink()
    assert restore_checkpoint(saved).update == 3
    assert caplog.messages == []


def test_two_bad_ones_are_both_named_and_stay(saved):
    save_checkpoint(saved, Progress(update=4))
    saved.folder.checkpoint.write_bytes(b"a")
    saved.folder.previous_checkpoint.write_bytes(b"b")
    with pytest.raises(
        RunError, match=r"checkpoint\.pt is not .*; and .*checkpoint-previous\.pt is"
    ):
        restore_checkpoint(saved)
    assert sorted(os.listdir(saved.folder.path)) == ["checkpoint-previous.pt", "checkpoint.pt"]


def test_an_interrupted_save_keeps_the_checkpoint_before(saved):
    before = saved.folder.checkpoint.read_bytes()

    class Unwritable:
        def __reduce__(self):
            raise OSError(28, "No space left on device")

    progress = Progress()
    progress.best = {"by": Unwritable()}
    with pytest.raises(OSError, match="No space"):
        save_checkpoint(saved, progress)
    assert saved.folder.checkpoint.read_bytes() == before


def test_the_micro_batch_that_memory_allowed_is_kept(saved, picture_job):
    saved.learner.micro_batch_size = 4
    save_checkpoint(saved, Progress(history=[math.pi]))
    job = picture_job()
    assert restore_checkpoint(job).history == [math.pi]
    assert job.learner.micro_batch_size == 4
