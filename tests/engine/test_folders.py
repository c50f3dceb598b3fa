from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from torch import nn

import rebatch
from rebatch.data.sets import load
from rebatch.engine.folders import FolderTask
from rebatch.engine.ranks import ALONE, Ranks

CPU = torch.device("cpu")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for split, count in (("train", 3), ("val", 1)):
        for label, wnid in enumerate(("n01", "n02")):
            folder = tmp_path / "imagenet" / split / wnid
            folder.mkdir(parents=True)
            for number in range(count):
                noise = np.random.RandomState(10 * label + number).randint(0, 128, (30, 30, 3))
                picture = Image.fromarray((noise + 100 * label).astype(np.uint8))
                picture.save(folder / f"{number}.JPEG")
    return tmp_path


@pytest.fixture
def task(root: Path) -> FolderTask:
    data = load("imagenet", root)
    plan = rebatch.plan(rebatch.parse("CBS-1-2", 2), epochs=2, examples=6)

    class Halved(nn.Module):
        def forward(self, images):
            return images.float() / 510

    return FolderTask(
        data.train,
        {"validation": data.valid},
        plan,
        seed=0,
        device=CPU,
        normalize=Halved(),
        workers=0,
    )


def test_batches_follow_the_plan_and_are_ready_for_the_model(task):
    assert [len(batch.targets) for batch in task.batches(0, 0)] == [2, 2, 2]
    batches = list(task.batches(1, 0))
    assert [len(batch.targets) for batch in batches] == [4, 2]
    assert sorted(torch.cat([batch.targets for batch in batches]).tolist()) == [0, 0, 0, 1, 1, 1]
    images = batches[0].inputs[0]
    assert images.shape == (4, 3, 224, 224)
    assert images.max() <= 0.5
    assert task.sample().shape == (2, 3, 224, 224)


def test_a_plan_that_grows_is_followed(task):
    plan = task.sampler.plan
    task.follow(plan.extend(plan.next_row(3)))
    assert [len(batch.targets) for batch in task.batches(2, 0)] == [3, 3]


def test_an_epoch_goes_on_with_the_same_crops(task):
    whole, rest = list(task.batches(1, 0)), list(task.batches(1, 1))
    assert len(rest) == 1
    assert torch.equal(rest[0].inputs[0], whole[1].inputs[0])
    first = next(iter(task.batches(0, 0)))
    again = next(iter(task.batches(0, 0)))
    assert torch.equal(first.inputs[0], again.inputs[0])


def test_reading_draws_nothing_from_the_numbers_of_training(task):
    model = nn.Sequential(nn.Flatten(), nn.Linear(3 * 224 * 224, 2))
    before = torch.get_rng_state()
    list(task.batches(0, 1))
    task.evaluate([model], nullcontext())
    assert torch.equal(torch.get_rng_state(), before)


def test_workers_give_what_one_process_gives(root, task):
    data = load("imagenet", root)
    plan = task.sampler.plan
    other = FolderTask(
        data.train,
        {"validation": data.valid},
        plan,
        seed=0,
        device=CPU,
        normalize=task.normalize,
        workers=1,
    )
    for own, theirs in zip(task.batches(1, 0), other.batches(1, 0), strict=True):
        assert torch.equal(own.inputs[0], theirs.inputs[0])
        assert torch.equal(own.targets, theirs.targets)


def test_validation_picks_the_epoch_and_is_judged_whole(task):
    class Brightness(nn.Module):
        """Right for every picture: the second class is bright."""

        def forward(self, images):
            level = images.mean((1, 2, 3)) - 0.22
            return torch.stack([-level, level], 1)

    assert task.selects_by == "validation_accuracy"
    figures = task.evaluate([Brightness()], nullcontext())
    assert figures["validation_accuracy"] == 100.0
    batch = next(iter(task.batches(0, 0)))
    loss = task.loss(Brightness(), batch, None)
    assert loss.correct == 2
    assert task.prepare(Brightness(), batch) is batch


def test_each_rank_decodes_its_own_part_of_every_update(root, task):
    def made(ranks: Ranks) -> FolderTask:
        data, plan = load("imagenet", root), task.sampler.plan
        held_out = {"validation": data.valid}
        return FolderTask(data.train, held_out, plan, seed=0, device=CPU, workers=0, ranks=ranks)

    whole = list(made(ALONE).batches(1, 0))
    parts = [list(made(Ranks(rank, 3)).batches(1, 0)) for rank in range(3)]
    for number, batch in enumerate(whole):
        own = [rank[number] for rank in parts]
        assert torch.equal(torch.cat([part.targets for part in own]), batch.targets)
        assert torch.equal(torch.cat([part.inputs[0] for part in own]), batch.inputs[0])
        assert {part.total for part in own} == {len(batch.targets)}


def test_plain_images_are_cut_in_their_centre(task):
    batch = task.plain_batch(4, seed=0)
    assert batch.inputs[0].shape == (4, 3, 224, 224)
    task.train.set_epoch(1)
    assert torch.equal(task.plain_batch(4, seed=0).inputs[0], batch.inputs[0])
    task.train.train = False
    centres = [task.train[number][0].float() / 510 for number in range(6)]
    assert all(any(torch.equal(image, own) for own in centres) for image in batch.inputs[0])
