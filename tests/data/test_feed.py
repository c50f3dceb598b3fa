"""The position of a feed, as a sampler saves and loads it."""

import json
import os
import subprocess
import sys
from itertools import chain
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, TensorDataset

import rebatch
from rebatch.data import PlannedBatchSampler
from rebatch.data._cut import Share


def cycle(examples=100):
    """A plan of 10, 20, 40, 10, 20, 40 over 100 samples."""
    return rebatch.plan(rebatch.cyclical(10, width=1, steps=3), epochs=6, examples=examples)


def test_the_rest_of_the_epoch_follows_what_the_loop_finished():
    sampler = PlannedBatchSampler(cycle(), 3)
    sampler.set_epoch(1)
    whole = list(sampler)
    state = sampler.state_dict(updates_done=2)
    resumed = PlannedBatchSampler(cycle(), 3)
    resumed.load_state_dict(state)
    assert (resumed.epoch, len(resumed)) == (1, 3)
    assert list(resumed) == whole[2:]


def test_a_state_is_small_and_plain():
    sampler = PlannedBatchSampler(cycle(), 3)
    sampler.set_epoch(1)
    assert sampler.state_dict(updates_done=2) == {
        "version": 1,
        "plan": cycle().fingerprint,
        "seed": 3,
        "order": "shuffled",
        "epoch": 1,
        "updates_done": 2,
        "samples": 40,
    }


def test_a_state_passes_through_a_file_that_loads_weights_only(tmp_path):
    state = PlannedBatchSampler(cycle()).state_dict(updates_done=2)
    torch.save(state, tmp_path / "state.pt")
    assert torch.load(tmp_path / "state.pt", weights_only=True) == state
    assert json.loads(json.dumps(state)) == state


def test_another_world_and_micro_batch_give_the_same_samples():
    sampler = PlannedBatchSampler(cycle(), rank=1, world_size=2)
    whole = list(PlannedBatchSampler(cycle()))
    state = sampler.state_dict(updates_done=4)
    shares = []
    for rank in range(3):
        resumed = PlannedBatchSampler(cycle(), rank=rank, world_size=3, micro_batch_size=4)
        resumed.load_state_dict(state)
        shares.append(list(resumed))
    assert [list(chain(*update)) for update in zip(*shares, strict=True)] == whole[4:]


def test_without_updates_done_a_state_is_what_was_drawn():
    sampler = PlannedBatchSampler(cycle())
    assert sampler.state_dict()["updates_done"] == 0
    batches = iter(sampler)
    next(batches), next(batches)
    assert sampler.state_dict()["updates_done"] == 2


def test_an_update_is_drawn_once_its_last_piece_is():
    sampler = PlannedBatchSampler(cycle(), micro_batch_size=5)
    pieces = iter(sampler)
    next(pieces)
    assert sampler.state_dict()["updates_done"] == 0
    next(pieces)
    assert sampler.state_dict()["updates_done"] == 1


def test_a_loader_with_workers_draws_ahead_but_the_loop_says_where_it_is():
    sampler = PlannedBatchSampler(cycle(), shuffle=False)
    loader = DataLoader(TensorDataset(torch.arange(100)), batch_sampler=sampler, num_workers=2)
    batches = iter(loader)
    next(batches)
    assert sampler.state_dict()["updates_done"] > 1
    state = sampler.state_dict(updates_done=1)
    sampler.load_state_dict(state)
    assert [batch[0][0].item() for batch in loader] == list(range(10, 100, 10))


def test_setting_the_same_epoch_keeps_the_position():
    sampler = PlannedBatchSampler(cycle())
    sampler.load_state_dict(sampler.state_dict(updates_done=7))
    sampler.set_epoch(0)
    assert len(sampler) == len(list(sampler)) == 3


def test_setting_another_epoch_starts_at_its_beginning():
    sampler = PlannedBatchSampler(cycle())
    sampler.load_state_dict(sampler.state_dict(updates_done=7))
    sampler.set_epoch(1)
    assert len(sampler) == len(list(sampler)) == 5
    sampler.set_epoch(0)
    assert len(sampler) == 10


def test_numbers_of_numpy_are_taken_and_leave_a_state_that_is_plain():
    sampler = PlannedBatchSampler(cycle(), np.int64(3), world_size=np.int64(2), rank=np.int64(1))
    sampler.set_epoch(np.int64(1))
    state = sampler.state_dict(updates_done=np.int64(2))
    assert json.loads(json.dumps(state)) == state
    assert (state["epoch"], state["updates_done"], state["seed"]) == (1, 2, 3)
    assert sampler.share == Share(1, 2)


def test_a_finished_epoch_gives_nothing_more():
    sampler = PlannedBatchSampler(cycle())
    sampler.load_state_dict(sampler.state_dict(updates_done=10))
    assert (len(sampler), list(sampler)) == (0, [])


def test_a_second_load_counts_from_the_start_of_the_epoch_too():
    sampler = PlannedBatchSampler(cycle())
    whole = list(sampler)
    sampler.load_state_dict(sampler.state_dict(updates_done=4))
    sampler.load_state_dict(sampler.state_dict(updates_done=6))
    assert list(sampler) == whole[6:]


def test_a_new_process_delivers_the_next_real_batch(tmp_path):
    sampler = PlannedBatchSampler(cycle(), 5)
    sampler.set_epoch(2)
    torch.save(sampler.state_dict(updates_done=1), tmp_path / "state.pt")
    script = Path(__file__).parent / "resume_in_new_process.py"
    done = subprocess.run(
        [sys.executable, script, tmp_path / "state.pt"],
        env={**os.environ, "PYTHONPATH": str(Path(rebatch.__file__).parents[1])},
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout) == list(sampler)[1:]
    assert [len(batch) for batch in json.loads(done.stdout)] == [40, 20]


def test_a_state_of_another_plan_is_refused():
    state = PlannedBatchSampler(cycle(examples=101)).state_dict()
    with pytest.raises(rebatch.InputError, match="state must be of plan"):
        PlannedBatchSampler(cycle()).load_state_dict(state)


def test_a_state_of_another_seed_is_refused():
    state = PlannedBatchSampler(cycle(), 1).state_dict()
    with pytest.raises(rebatch.InputError, match="state must be of seed 0, got 1"):
        PlannedBatchSampler(cycle()).load_state_dict(state)


def test_a_state_of_another_order_is_refused():
    state = PlannedBatchSampler(cycle(), shuffle=False).state_dict()
    with pytest.raises(rebatch.InputError, match="state must be of order 'shuffled'"):
        PlannedBatchSampler(cycle()).load_state_dict(state)


def test_a_state_without_a_position_is_refused():
    state = PlannedBatchSampler(cycle()).state_dict()
    del state["epoch"]
    with pytest.raises(rebatch.InputError, match="state must be one that state_dict gave"):
        PlannedBatchSampler(cycle()).load_state_dict(state)


@pytest.mark.parametrize("done", [-1, 11, 2.0, True])
def test_updates_outside_the_epoch_are_refused(done):
    with pytest.raises(rebatch.InputError, match=f"10 updates of epoch 0, got {done}"):
        PlannedBatchSampler(cycle()).state_dict(updates_done=done)


def test_a_number_of_updates_in_words_is_refused():
    with pytest.raises(rebatch.InputError, match="updates_done must be from 0 to the 10 updates"):
        PlannedBatchSampler(cycle()).state_dict(updates_done="2")


def test_a_state_that_is_no_state_is_refused():
    message = "state must be one that state_dict gave, got None"
    with pytest.raises(rebatch.InputError, match=message):
        PlannedBatchSampler(cycle()).load_state_dict(None)


def test_a_feed_follows_a_plan_that_grows():
    plan = rebatch.plan(rebatch.constant(40), epochs=1, examples=100)
    sampler = PlannedBatchSampler(plan, 3)
    first = list(sampler)
    grown = plan.extend(plan.next_row(50, epochs=2))
    sampler.follow(grown)
    assert list(sampler) == first
    sampler.set_epoch(2)
    assert [len(batch) for batch in sampler] == [50, 50]
    assert sorted(chain(*sampler)) == list(range(100))
    assert sampler.state_dict(updates_done=1)["plan"] == grown.fingerprint


def test_a_feed_refuses_a_plan_that_is_not_its_own_grown():
    plan = rebatch.plan(rebatch.constant(40), epochs=1, examples=100)
    sampler = PlannedBatchSampler(plan)
    with pytest.raises(
        rebatch.InputError, match=r"^plan must go on from <Plan of BL from 40: .*>, got <Pl"
    ):
        sampler.follow(cycle())
