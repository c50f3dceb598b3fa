import math
from contextlib import nullcontext

import pytest
import torch
from torch import nn

from rebatch.engine.adversarial import Adversarial
from rebatch.engine.ensemble import evaluate_snapshots, reestimate
from rebatch.engine.loop import train
from rebatch.engine.snapshots import list_snapshots, load_snapshot, snapshot_updates
from rebatch.errors import InputError


@pytest.fixture
def trained(text_job):
    job = text_job(epochs=6)
    job.snapshots = snapshot_updates(job.plan)
    train(job)
    return job


def test_a_language_ensemble_from_files_is_no_worse_than_the_geometric_mean(trained):
    learner, paths = trained.learner, list_snapshots(trained.folder.snapshots)
    before = {name: value.clone() for name, value in learner.model.state_dict().items()}
    alone = [
        evaluate_snapshots(learner.model, learner.task, [path], nullcontext())["test_perplexity"]
        for path in paths
    ]
    together = evaluate_snapshots(learner.model, learner.task, paths, nullcontext())
    assert together["members"] == ["cycle-000", "cycle-001", "cycle-002"]
    geometric = math.exp(sum(map(math.log, alone)) / 3)
    assert together["test_perplexity"] <= geometric
    assert len(set(alone)) == 3
    now = learner.model.state_dict()
    assert all(torch.equal(value, now[name]) for name, value in before.items())


def test_members_are_the_weights_of_the_files(trained):
    learner, paths = trained.learner, list_snapshots(trained.folder.snapshots)
    one = evaluate_snapshots(learner.model, learner.task, paths[:1], nullcontext())
    load_snapshot(paths[0], learner.model)
    learner.model.eval()
    expected = learner.task.evaluate([learner.model], nullcontext())
    assert {name: one[name] for name in expected} == expected


def test_no_snapshot_is_no_ensemble(trained):
    with pytest.raises(InputError, match=r"^snapshots must be at least one, got none$"):
        evaluate_snapshots(trained.learner.model, trained.learner.task, [], nullcontext())


def test_batch_norm_statistics_are_taken_anew_as_a_plain_average(picture_job):
    model = nn.Sequential(nn.BatchNorm2d(3), nn.Flatten(), nn.Linear(192, 2))
    attack = Adversarial(share=1, epsilon=0.3)  # evaluation is on clean images, so is this
    job = picture_job("BL", base=20, model=model, task={"adversarial": attack})
    with torch.no_grad():
        model[0].running_mean.fill_(99)
    reestimate(model, job.learner.task, nullcontext())
    images = torch.cat([batch.inputs[0] for batch in job.learner.task.batches(0, 0)]) / 255
    torch.testing.assert_close(model[0].running_mean, images.mean((0, 2, 3)))
    assert model[0].momentum == 0.1
    assert model[0].num_batches_tracked.item() == 2
    assert model[0].weight.grad is None


def test_reestimation_changes_the_figures_of_snapshots_with_batch_norm(picture_job):
    job = picture_job(epochs=2)
    job.snapshots = snapshot_updates(job.plan)
    train(job)
    learner, paths = job.learner, list_snapshots(job.folder.snapshots)
    figures = [
        evaluate_snapshots(learner.model, learner.task, paths, nullcontext(), reestimated=anew)[
            "test_loss"
        ]
        for anew in (False, True)
    ]
    assert figures[0] != figures[1]
