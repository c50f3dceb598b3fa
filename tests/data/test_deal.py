"""Accelerate's own shard of a batch sampler, made for several processes in this one."""

import pytest
from accelerate.data_loader import BatchSamplerShard

import rebatch
from rebatch.data import PlannedBatchSampler, pieces
from rebatch.errors import InputError


def plan(batch_size=5, examples=12):
    return rebatch.plan(rebatch.constant(batch_size), epochs=2, examples=examples)


def shard(rank, sampler):
    return BatchSamplerShard(sampler, num_processes=2, process_index=rank)


def test_each_process_takes_its_share_of_every_update():
    shards = [shard(rank, PlannedBatchSampler(plan(), shuffle=False)) for rank in range(2)]
    assert list(shards[0]) == [[0, 1, 2], [5, 6, 7], [10]]
    assert list(shards[1]) == [[3, 4], [8, 9], [11]]
    assert [len(shard) for shard in shards] == [3, 3]


def test_a_share_is_not_shared_out_again():
    sampler = PlannedBatchSampler(plan(), shuffle=False, rank=1, world_size=2)
    assert list(shard(1, sampler)) == [[3, 4], [8, 9], [11]]


def test_micro_batches_stay_with_their_process():
    sampler = PlannedBatchSampler(plan(), shuffle=False, micro_batch_size=2)
    assert list(shard(0, sampler)) == [[0, 1], [2], [5, 6], [7], [10]]


def test_a_process_with_nothing_in_the_last_update_takes_a_filler_of_no_weight():
    sampler = PlannedBatchSampler(plan(examples=11), shuffle=False)
    paired = list(pieces(sampler, shard(1, sampler)))
    assert [batch for _, batch in paired] == [[3, 4], [8, 9], [10]]
    assert [piece.weight for piece, _ in paired] == [0.8, 0.8, 0.0]


def test_only_the_shard_is_given_all_shares():
    sampler = PlannedBatchSampler(plan(), shuffle=False, rank=1, world_size=2)
    shard(1, sampler)
    assert list(sampler) == [[3, 4], [8, 9], [11]]
    assert len(sampler) == 3


def test_a_position_inside_an_epoch_is_kept():
    sampler = PlannedBatchSampler(plan(), shuffle=False)
    sampler.load_state_dict(sampler.state_dict(updates_done=1))
    assert list(shard(0, sampler)) == [[5, 6, 7], [10]]


def test_another_number_of_processes_than_the_sampler_was_made_for_is_refused():
    sampler = PlannedBatchSampler(plan(), rank=1, world_size=3)
    with pytest.raises(InputError, match="world_size must be the 2 of Accelerate, got 3"):
        list(shard(0, sampler))
