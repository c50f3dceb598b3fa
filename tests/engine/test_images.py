from contextlib import nullcontext

import pytest
import torch
from torch import nn

import rebatch
from rebatch.data import crop_and_flip
from rebatch.engine.images import ImageTask

CPU = torch.device("cpu")


def make(pictures, **settings) -> ImageTask:
    plan = rebatch.plan(rebatch.constant(16), epochs=2, examples=40)
    return ImageTask(pictures, {"test": pictures}, plan, seed=0, device=CPU, **settings)


def test_images_reach_the_model_between_0_and_1_and_normalised_last(pictures):
    class Doubled(nn.Module):
        def forward(self, images):
            return 2 * images

    task = make(pictures, peak=200, normalize=Doubled())
    seen = []
    model = nn.Sequential(nn.Flatten(), nn.Linear(192, 2))
    model.register_forward_pre_hook(lambda module, inputs: seen.append(inputs[0]))
    batch = next(iter(task.batches(0, 0)))
    task.loss(model, batch, None)
    assert torch.equal(seen[0], batch.inputs[0].float() / 200 * 2)
    assert batch.inputs[0].dtype == torch.uint8
    assert torch.equal(task.sample(), seen[0])


def test_the_loss_is_cross_entropy_or_the_squared_error_of_the_softmax(pictures):
    model = nn.Sequential(nn.Flatten(), nn.Linear(192, 2))
    batch = next(iter(make(pictures).batches(0, 0)))
    logits = model(batch.inputs[0].float() / 255)
    entropy = make(pictures).loss(model, batch, None)
    torch.testing.assert_close(entropy.mean, nn.functional.cross_entropy(logits, batch.targets))
    assert entropy.correct == (logits.argmax(1) == batch.targets).sum()
    squared = make(pictures, squared_error=True).loss(model, batch, None).mean
    wanted = torch.eye(2)[batch.targets]
    torch.testing.assert_close(squared, (logits.softmax(1) - wanted).square().mean())


def test_evaluation_runs_over_all_images_as_they_are(pictures):
    task = make(pictures, augment=crop_and_flip(padding=2))
    model = nn.Sequential(nn.Flatten(), nn.Linear(192, 2))
    figures = task.evaluate([model], nullcontext())
    images, labels = pictures
    logits = model(images.float() / 255)
    loss = nn.functional.cross_entropy(logits, labels)
    assert figures["test_loss"] == pytest.approx(loss.detach().item(), rel=1e-5)
    right = (logits.argmax(1) == labels).float().mean().item()
    assert figures["test_accuracy"] == pytest.approx(100 * right, rel=1e-6)
    assert task.selects_by == "test_accuracy"


def test_batches_go_on_where_an_epoch_was_left_with_the_same_crops(pictures):
    task = make(pictures, augment=crop_and_flip(padding=2))
    whole, rest = list(task.batches(1, 0)), list(task.batches(1, 2))
    assert [len(batch.targets) for batch in whole] == [16, 16, 8]
    assert torch.equal(rest[0].inputs[0], whole[2].inputs[0])


def test_plain_images_are_not_augmented_and_the_seed_picks_them(pictures):
    task = make(pictures, augment=crop_and_flip(padding=2))
    (images,), labels = task.plain_batch(3, seed=7)[:2]
    numbers = [int((images[place] == pictures[0]).all((1, 2, 3)).nonzero()) for place in range(3)]
    assert len(set(numbers)) == 3
    assert labels.tolist() == pictures[1][numbers].tolist()
    assert torch.equal(task.plain_batch(3, seed=7).inputs[0], images)
    assert not torch.equal(task.plain_batch(3, seed=8).inputs[0], images)
    assert len(task.plain_batch(128, seed=0).targets) == 40
