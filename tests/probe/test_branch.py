import math

import pytest
import torch

from rebatch.engine.job import Job
from rebatch.engine.loop import train
from rebatch.probe._branch import run_branch, start, warm_up
from rebatch.records import RunFolder


def unseen(label, plan):
    return lambda progress, rate: None


def state(job: Job) -> list[torch.Tensor]:
    """Weights and momentum."""
    learner = job.learner
    momenta = [values["momentum_buffer"] for values in learner.optimizer.state.values()]
    return [*learner.model.state_dict().values(), *momenta]


def order(job: Job, epoch: int) -> torch.Tensor:
    """The labels of an epoch in the order in which they come."""
    return torch.cat([batch.targets for batch in job.learner.task.batches(epoch, 0)])


@pytest.fixture
def warmed(small, lab):
    here = lab(small())
    return here, warm_up(here, unseen)


def test_branches_leave_from_the_very_same_point(warmed):
    here, warm = warmed
    jobs = [start(here, warm, size, repeat) for size, repeat in here.design.branches]
    assert len(state(jobs[0])) == 12
    for job in jobs:
        for tensor, expected in zip(state(job), state(warm), strict=True):
            assert torch.equal(tensor, expected)


def test_branches_of_a_repeat_read_the_same_samples_and_repeats_others(warmed):
    here, warm = warmed
    first, second = ([start(here, warm, size, r) for size in here.design.sizes] for r in (0, 1))
    for job in first:
        assert torch.equal(order(job, 1), order(first[0], 1))
    assert not torch.equal(order(second[0], 1), order(first[0], 1))
    assert order(second[2], 1).bincount().tolist() == order(first[0], 1).bincount().tolist()


def test_the_first_branch_of_the_base_is_the_run_going_on(warmed, tmp_path):
    here, warm = warmed
    case = here.design.case(32)
    learner, plan = here.learner(case, 0)
    whole = Job(learner, plan, case.rate_at, RunFolder(tmp_path / "whole"))
    train(whole)
    branch = start(here, warm, 32, 0)
    branch.log_every = whole.log_every  # measuring noise cuts an update in two, which rounds
    train(branch, resume=True)
    for tensor, expected in zip(state(branch), state(whole), strict=True):
        assert torch.equal(tensor, expected)


def test_the_rate_of_a_branch_is_scaled(warmed):
    here, warm = warmed
    assert start(here, warm, 128, 0).rate(1.0, []) == pytest.approx(0.1)


def test_a_branch_leaves_a_record_and_no_files(warmed):
    here, warm = warmed
    record = run_branch(here, warm, 64, 1, unseen)
    assert (record["batch_size"], record["repeat"], record["updates"]) == (64, 1, 23)
    assert record["rate_factor"] == pytest.approx(math.sqrt(2))
    assert 0.1 < record["loss"] < 2.3
    assert record["held_out"] == {}
    assert record["gradient_variance"] > 0
    assert sorted(path.name for path in here.folder.iterdir()) == [".lock", "warm-up"]


def test_the_same_branch_reaches_the_same_loss(warmed):
    here, warm = warmed
    one, two = (run_branch(here, warm, 64, 1, unseen)["loss"] for _ in range(2))
    assert one == two


def test_a_branch_that_loses_its_numbers_has_no_loss(small, lab):
    here = lab(small("cyclical_rate=1e30"))
    here_warm = lab(small())
    warm = warm_up(here_warm, unseen)
    record = run_branch(here, warm, 64, 0, unseen)
    assert record["loss"] is None
    assert not (here.folder / "branch").exists()


def test_test_data_is_never_looked_at_and_validation_data_is(small, lab):
    here = lab(small("holdout=200"))
    warm = warm_up(here, unseen)
    job = start(here, warm, 64, 0)
    assert list(job.learner.task.held_out) == ["validation"]
    record = run_branch(here, warm, 64, 0, unseen)
    assert list(record["held_out"]) == ["validation_loss"]
