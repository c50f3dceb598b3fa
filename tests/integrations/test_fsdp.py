"""FSDP of a small network fed by a plan, in two real processes."""

import pytest
import torch
from torch import nn

import rebatch
from rebatch.data import PlannedBatchSampler


@pytest.fixture(scope="module")
def ranks(two_processes, tmp_path_factory):
    return two_processes("fsdp_in_two.py", tmp_path_factory.mktemp("fsdp"))


@pytest.fixture(scope="module")
def alone(ranks):
    """The weights after the same nine updates, each of one batch in one process."""
    inputs, targets = (torch.tensor(values, dtype=torch.float64) for values in ranks[0]["data"])
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 12), nn.Tanh(), nn.Linear(12, 3)).double()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    plan = rebatch.plan(rebatch.cyclical(4, width=1, steps=2), epochs=2, examples=21)
    sampler, sizes = PlannedBatchSampler(plan), []
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for indices in sampler:
            optimizer.zero_grad()
            nn.functional.mse_loss(model(inputs[indices]), targets[indices]).backward()
            optimizer.step()
            sizes.append(len(indices))
    assert sizes == [4, 4, 4, 4, 4, 1, 8, 8, 5]
    return torch.cat([weight.detach().flatten() for weight in model.parameters()])


@pytest.mark.parametrize(
    "way", ["wrapped", "sharded", "sharded and not held", "prepared", "resumed"]
)
def test_the_weights_are_those_of_one_process_with_large_batches(ranks, alone, way):
    for rank in ranks:
        weights = torch.tensor(rank[way]["weights"], dtype=torch.float64)
        assert (weights - alone).abs().max() < 1e-10


@pytest.mark.parametrize("way", ["sharded", "prepared"])
def test_gradients_are_exchanged_with_the_last_piece_alone(ranks, way):
    first_epoch, second = [[True, True]] * 6, [[False, False], [True, True]] * 2 + [[True, True]]
    for rank in ranks:
        assert rank[way]["left"] == first_epoch + second


def test_a_sharded_model_that_is_told_nothing_exchanges_with_every_piece(ranks):
    for rank in ranks:
        assert [left for _, left in rank["sharded and not held"]["left"]] == [True] * 11


def test_each_process_keeps_half_of_the_weights(ranks):
    assert [rank["prepared"]["part"] for rank in ranks] == [36, 36]


def test_a_run_goes_on_inside_the_second_epoch(ranks):
    assert ranks[0]["resumed"]["left"] == [[True, True]]


def test_without_an_accelerator_accelerate_makes_ddp_of_fsdp(ranks):
    for rank in ranks:
        assert rank["on processors"] == {"taken": "MULTI_CPU", "model": "DistributedDataParallel"}


def test_the_first_fsdp_by_accelerate_is_refused_on_processors(ranks):
    for number, rank in enumerate(ranks):
        assert rank["first prepared"] == (
            f"Inconsistent compute device and `device_id` on rank {number}: cpu vs cpu:0"
        )
