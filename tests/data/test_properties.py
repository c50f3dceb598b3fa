"""What must hold for every plan, world, micro-batch and place to stop."""

import math
from itertools import chain

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils.data import DataLoader, TensorDataset

import rebatch
from rebatch.data import PlannedBatchSampler, PlannedStream, pieces
from rebatch.errors import InputError

COUNTS = st.integers(1, 90)


@st.composite
def plans(draw, examples=COUNTS):
    """A plan by any clock and of any length, with sizes from 1 to above the data."""
    clock = draw(st.sampled_from(["epochs", "updates", "samples"]))
    width = draw(st.integers(1, 3)) * (17 if clock == "samples" else 1)
    growth = draw(st.integers(2, 3))
    shape = draw(st.sampled_from([rebatch.cyclical, rebatch.triangular]))
    options = {"growth": growth} if shape is rebatch.cyclical else {}
    steps = draw(st.integers(2, 3))
    schedule = shape(draw(st.integers(1, 12)), width=width, steps=steps, clock=clock, **options)
    length = draw(st.sampled_from(["epochs", "updates", "samples"]))
    amount = {"epochs": 4, "updates": 40, "samples": 200}[length]
    try:
        return rebatch.plan(
            schedule,
            **{length: draw(st.integers(1, amount))},
            examples=draw(examples),
            drop_last=draw(st.booleans()),
        )
    except InputError:  # a batch that drop_last leaves nothing of
        return rebatch.plan(schedule, **{length: 3}, examples=50)


@st.composite
def shares(draw, plan):
    """A number of ranks and a micro-batch."""
    micro_batch_size = draw(st.none() | st.integers(1, plan.sizes[-1]))
    return {"world_size": draw(st.integers(1, 8)), "micro_batch_size": micro_batch_size}


def epochs(plan):
    return range(math.ceil(plan.epochs))


def ranks_of(plan, seed, *, world_size, micro_batch_size):
    return [
        PlannedBatchSampler(
            plan, seed, rank=rank, world_size=world_size, micro_batch_size=micro_batch_size
        )
        for rank in range(world_size)
    ]


def updates_of(samplers):
    """Return {update: its samples over all ranks}, and check what every rank must keep to."""
    found, rounds = {}, []
    for sampler in samplers:
        planned = len(sampler)
        walked = list(pieces(sampler, sampler))
        assert len(walked) == planned
        rounds.append([(piece.update, piece.last) for piece, _ in walked])
        for piece, indices in walked:
            assert len(indices) == max(piece.samples, 1)
            found.setdefault(piece.update, []).extend(indices[: piece.samples])
    assert all(one == rounds[0] for one in rounds)
    return found


def whole(plan, seed, epoch):
    sampler = PlannedBatchSampler(plan, seed)
    sampler.set_epoch(epoch)
    return updates_of([sampler])


@given(st.data())
@settings(max_examples=80, deadline=None)
def test_every_sample_comes_once_an_epoch_on_some_rank(data):
    plan = data.draw(plans())
    samplers = ranks_of(plan, 1, **data.draw(shares(plan)))
    delivered = 0
    for epoch in epochs(plan):
        for sampler in samplers:
            sampler.set_epoch(epoch)
        found = updates_of(samplers)
        samples = list(chain.from_iterable(found.values()))
        delivered += len(samples)
        assert len(set(samples)) == len(samples)
        assert len(found) == plan.updates_in(epoch)
        assert found == whole(plan, 1, epoch)
        if not plan.drop_last and epoch + 1 <= plan.epochs:
            assert sorted(samples) == list(range(plan.examples))
    assert delivered == plan.samples


@given(st.data())
@settings(max_examples=80, deadline=None)
def test_weights_of_an_update_add_up_to_the_number_of_ranks(data):
    plan = data.draw(plans())
    samplers = ranks_of(plan, 1, **data.draw(shares(plan)))
    sums = {}
    for sampler in samplers:
        for piece, _ in pieces(sampler, sampler):
            sums[piece.update] = sums.get(piece.update, 0) + piece.weight
            assert piece.batch_size <= plan.batch_size_at(piece.update)
    assert all(abs(total - len(samplers)) < 1e-9 for total in sums.values())


@given(st.data())
@settings(max_examples=80, deadline=None)
def test_stopped_anywhere_and_resumed_in_another_world_the_same_samples_follow(data):
    plan = data.draw(plans())
    epoch = data.draw(st.sampled_from(epochs(plan)))
    before = ranks_of(plan, 2, **data.draw(shares(plan)))[-1]
    before.set_epoch(epoch)
    done = data.draw(st.integers(0, plan.updates_in(epoch)))
    state = before.state_dict(updates_done=done)

    after = ranks_of(plan, 2, **data.draw(shares(plan)))
    for sampler in after:
        sampler.load_state_dict(state)
    expected = dict(list(whole(plan, 2, epoch).items())[done:])
    assert updates_of(after) == expected
    consumed = plan.sample_at(plan.first_update_of(epoch) + done)
    assert state["samples"] == consumed - plan.sample_at(plan.first_update_of(epoch))


@given(st.data())
@settings(max_examples=80, deadline=None)
def test_a_stream_is_cut_like_samples_in_their_order(data):
    plan = data.draw(plans())
    share = data.draw(shares(plan))
    rank = data.draw(st.integers(0, share["world_size"] - 1))
    chunked = data.draw(st.booleans())
    source = torch.arange(plan.examples)
    parts = list(source.split(data.draw(st.integers(1, 30)))) if chunked else source.tolist()
    stream = PlannedStream(parts, plan, rank=rank, chunked=chunked, **share)
    sampler = PlannedBatchSampler(plan, shuffle=False, rank=rank, **share)
    epoch = data.draw(st.sampled_from(epochs(plan)))
    done = data.draw(st.integers(0, plan.updates_in(epoch)))
    stream.set_epoch(epoch)
    stream.load_state_dict(stream.state_dict(updates_done=done))
    sampler.set_epoch(epoch)
    sampler.load_state_dict(sampler.state_dict(updates_done=done))
    cut = [(piece, batch.tolist()) for piece, batch in pieces(stream)]
    for (piece, batch), (planned, indices) in zip(cut, pieces(sampler, sampler), strict=True):
        assert piece == planned
        assert batch[: piece.samples] == indices[: piece.samples]


@given(st.data())
@settings(max_examples=4, deadline=None)
def test_workers_change_nothing(data):
    plan = data.draw(plans(st.just(40)))
    share = data.draw(shares(plan))
    dataset = TensorDataset(torch.arange(40))
    delivered = []
    for options in ({}, {"num_workers": 2}, {"num_workers": 2, "persistent_workers": True}):
        sampler = PlannedBatchSampler(plan, 3, **share)
        loader = DataLoader(dataset, batch_sampler=sampler, **options)
        found = []
        for epoch in list(epochs(plan))[:2]:
            sampler.set_epoch(epoch)
            found += [(piece, batch.tolist()) for piece, (batch,) in pieces(sampler, loader)]
        delivered.append(found)
    assert delivered[0] == delivered[1] == delivered[2]
