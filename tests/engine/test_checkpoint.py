import math
import os
import random

import pytest
import torch

from rebatch.engine.checkpoint import restore_checkpoint, save_checkpoint
from rebatch.engine.loop import train
from rebatch.engine.state import Progress
from rebatch.errors import RunError


@pytest.fixture
def saved(picture_job):
    job = picture_job()
    save_checkpoint(job, Progress(update=3, log_length=0))
    return job


def test_a_checkpoint_loads_with_weights_only_and_stands_alone(saved):
    values = torch.load(saved.folder.checkpoint, weights_only=True)
    assert set(values) == {
        *("plan", "model", "optimizer", "random", "micro_batch_size", "progress")
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

    torch.save({"plan": Bomb()}, saved.folder.checkpoint)
    with pytest.raises(RunError, match="is not a whole checkpoint"):
        restore_checkpoint(saved)
    assert not (tmp_path / "boom").exists()


def test_values_that_do_not_fit_are_named(saved, picture_job):
    path = saved.folder.checkpoint
    values = torch.load(path, weights_only=True)
    torch.save([1], path)
    with pytest.raises(RunError, match=r"must hold a checkpoint, got list"):
        restore_checkpoint(saved)
    for name in ("model", "optimizer", "random", "progress"):
        torch.save({key: value for key, value in values.items() if key != name}, path)
        with pytest.raises(RunError, match=rf"does not fit this run: '{name}'"):
            restore_checkpoint(picture_job())
    torch.save({**values, "model": {}}, path)
    with pytest.raises(RunError, match=r"does not fit this run: Error"):
        restore_checkpoint(picture_job())


def test_another_plan_is_refused(saved, picture_job):
    with pytest.raises(RunError, match="is of another plan: start anew in another folder"):
        restore_checkpoint(picture_job(epochs=3))


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
