import json

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import rebatch
from rebatch.data import PlannedBatchSampler, TensorLoader, crop_and_flip


def planned(sizes=(2, 4), *, examples=10, epochs=4, **data):
    schedule = rebatch.thresholds(dict(enumerate(sizes)))
    return rebatch.plan(schedule, epochs=epochs, examples=examples, **data)


def loader(plan=None, **options):
    plan = plan or planned()
    return TensorLoader([torch.arange(plan.examples)], plan, **options)


def read(feed):
    return [batch.tolist() for (batch,) in feed]


def test_without_shuffling_batches_follow_the_data():
    feed = loader(shuffle=False)
    assert read(feed) == [[0, 1], [2, 3], [4, 5], [6, 7], [8, 9]]
    feed.set_epoch(1)
    assert read(feed) == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]


def test_tensors_are_indexed_together():
    images, labels = torch.randn(10, 3, 2, 2), torch.arange(10)
    for picture, label in TensorLoader((images, labels), planned(), seed=1):
        assert torch.equal(picture, images[label])


def test_samples_and_order_are_those_of_the_sampler():
    plan = planned()
    feed, sampler = loader(plan, seed=7), PlannedBatchSampler(plan, seed=7)
    for epoch in range(4):
        feed.set_epoch(epoch)
        sampler.set_epoch(epoch)
        assert read(feed) == list(sampler)


def test_a_position_saved_by_the_sampler_loads():
    plan = planned()
    feed, sampler = loader(plan), PlannedBatchSampler(plan)
    sampler.set_epoch(1)
    state = json.loads(json.dumps(sampler.state_dict(updates_done=1)))
    feed.load_state_dict(state)
    sampler.load_state_dict(state)
    assert len(feed) == 2
    assert read(feed) == list(sampler)


def test_a_last_short_batch_is_dropped_where_the_plan_says_so():
    feed = loader(planned((4,), drop_last=True), shuffle=False)
    assert read(feed) == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert len(feed) == 2


def test_the_size_changes_inside_an_epoch_by_an_update_clock():
    schedule = rebatch.thresholds({0: 2, 3: 3}, clock="updates")
    plan = rebatch.plan(schedule, epochs=1, examples=10)
    assert read(loader(plan, shuffle=False)) == [[0, 1], [2, 3], [4, 5], [6, 7, 8], [9]]


def test_micro_batches_know_their_update_and_weight():
    feed = loader(planned((5,)), micro_batch_size=2, shuffle=False)
    got = [(batch.tolist(), p.update, p.weight, p.last) for p, (batch,) in feed.pieces()]
    assert got[:3] == [([0, 1], 0, 0.4, False), ([2, 3], 0, 0.4, False), ([4], 0, 0.2, True)]
    assert len(feed) == len(got) == 6


def test_a_rank_without_a_sample_gets_one_with_weight_0():
    feed = loader(planned((3,)), rank=1, world_size=2, shuffle=False)
    assert [(batch.tolist(), piece.weight) for piece, (batch,) in feed.pieces()] == [
        ([2], 2 / 3),
        ([5], 2 / 3),
        ([8], 2 / 3),
        ([9], 0),
    ]


def test_without_updates_done_the_state_is_what_was_drawn():
    feed = loader(planned((4,)), micro_batch_size=2)
    batches = iter(feed)
    next(batches), next(batches), next(batches)
    assert feed.state_dict()["updates_done"] == 1


def test_two_passes_at_once_count_apart():
    feed = loader(rebatch.plan(rebatch.constant(2), epochs=1, examples=6))
    first, second = feed.pieces(), feed.pieces()
    walked = [next(pass_)[0].updates_done for pass_ in (first, second, first, second)]
    assert walked == [1, 1, 2, 2]


def test_a_batch_may_be_changed_without_changing_the_data():
    data = torch.zeros(10)
    for (batch,) in TensorLoader([data], planned(), shuffle=False):
        batch.add_(1)
    assert data.sum() == 0


class Tagged:
    """Keeps the numbers that were drawn beside the index of the image."""

    def draw(self, count, generator):
        return torch.randint(1000, (count, 1), generator=generator)

    def prepare(self, draws, images):
        return draws

    def __call__(self, images, draws):
        return torch.stack((images, draws[:, 0]), dim=1)


def tags(feed):
    return sorted(tuple(pair) for (batch,) in feed for pair in batch.tolist())


def test_an_image_is_augmented_alike_whatever_the_ranks_and_micro_batches():
    plan = planned((4,))
    whole = tags(loader(plan, augment=Tagged()))
    first = tags(loader(plan, augment=Tagged(), rank=0, world_size=2, micro_batch_size=1))
    second = tags(loader(plan, augment=Tagged(), rank=1, world_size=2))
    assert sorted(first + second) == whole


def test_an_image_is_augmented_alike_after_a_resume():
    plan = planned((4,))
    feed = loader(plan, augment=Tagged())
    rest = [batch.tolist() for (batch,) in feed][1:]
    again = loader(plan, augment=Tagged())
    again.load_state_dict(feed.state_dict(updates_done=1))
    assert [batch.tolist() for (batch,) in again] == rest


def test_another_epoch_and_another_seed_augment_otherwise():
    feed = loader(planned((10,)), augment=Tagged())
    drawn = {tuple(tags(feed)), tuple(tags(loader(planned((10,)), seed=1, augment=Tagged())))}
    feed.set_epoch(1)
    assert len({*drawn, tuple(tags(feed))}) == 3


def test_labels_are_left_alone_by_the_augmentation():
    images, labels = torch.randint(256, (10, 3, 8, 8), dtype=torch.uint8), torch.arange(10)
    feed = TensorLoader((images, labels), planned((10,)), augment=crop_and_flip(padding=2))
    pictures, got = next(iter(feed))
    assert sorted(got.tolist()) == list(range(10))
    assert pictures.shape == (10, 3, 8, 8)
    assert pictures.dtype == torch.uint8


def test_a_plan_for_another_number_of_examples_is_refused():
    with pytest.raises(rebatch.InputError, match="tensors must hold the 10 examples"):
        TensorLoader((torch.zeros(10), torch.zeros(9)), planned())


def test_no_tensors_are_refused():
    with pytest.raises(rebatch.InputError, match="got none"):
        TensorLoader((), planned())


def test_a_plan_of_tokens_is_refused():
    plan = rebatch.plan(rebatch.constant(2), epochs=1, tokens=20, bptt=3)
    with pytest.raises(rebatch.InputError, match="plan must be of examples"):
        TensorLoader([torch.arange(20)], plan)


def test_a_state_of_another_seed_is_refused():
    with pytest.raises(rebatch.InputError, match="state must be of seed 0, got 1"):
        loader().load_state_dict(loader(seed=1).state_dict())


@settings(max_examples=50, deadline=None)
@given(
    sizes=st.lists(st.integers(1, 12), min_size=1, max_size=4),
    examples=st.integers(1, 40),
    clock=st.sampled_from(["epochs", "updates", "samples"]),
    world_size=st.integers(1, 5),
    micro_batch_size=st.none() | st.just(1),
    done=st.integers(0, 5),
)
def test_every_sample_comes_exactly_once_over_all_ranks_from_any_stop_on(
    sizes, examples, clock, world_size, micro_batch_size, done
):
    schedule = rebatch.thresholds(
        {3 * place: size for place, size in enumerate(sizes)}, clock=clock
    )
    plan = rebatch.plan(schedule, epochs=1, examples=examples)
    done = min(done, plan.updates)
    order = [sample for (batch,) in loader(plan) for sample in batch.tolist()]
    assert sorted(order) == list(range(examples))
    rest = []
    for rank in range(world_size):
        feed = loader(plan, rank=rank, world_size=world_size, micro_batch_size=micro_batch_size)
        feed.load_state_dict(loader(plan).state_dict(updates_done=done))
        pieces = list(feed.pieces())
        assert len(pieces) == len(feed)
        assert sum(piece.last for piece, _ in pieces) == plan.updates - done
        rest += [sample for piece, (batch,) in pieces if piece.samples for sample in batch.tolist()]
    assert sorted(rest) == sorted(order[plan.sample_at(done) :])


def test_batches_gathered_together_are_those_gathered_one_by_one():
    images = torch.randint(256, (300, 3, 8, 8), dtype=torch.uint8)
    plan = planned((16, 512, 7), examples=300, epochs=3)
    wide = torch.randn(300, 3, 8, 8, requires_grad=True)  # each batch of this one comes alone
    ours, alone = TensorLoader([images, wide.detach()], plan), TensorLoader([images, wide], plan)
    for epoch in range(3):
        ours.set_epoch(epoch)
        alone.set_epoch(epoch)
        for together, single in zip(ours, alone, strict=True):
            assert all(torch.equal(a, b) for a, b in zip(together, single, strict=True))


def test_a_batch_may_be_changed_in_place_without_changing_the_next():
    plan = planned((4,), examples=40, epochs=1)
    untouched = [batch.clone() for (batch,) in TensorLoader([torch.arange(40)], plan)]
    for (batch,), kept in zip(TensorLoader([torch.arange(40)], plan), untouched, strict=True):
        assert torch.equal(batch, kept)
        batch.zero_()


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_data_on_the_gpu_gives_the_same_batches_without_leaving_it():
    images = torch.randint(256, (100, 3, 32, 32), dtype=torch.uint8)
    plan = planned((16,), examples=100)
    on_cpu = TensorLoader([images], plan, augment=crop_and_flip())
    on_gpu = TensorLoader([images.cuda()], plan, augment=crop_and_flip())
    for (left,), (right,) in zip(on_cpu, on_gpu, strict=True):
        assert right.is_cuda
        assert torch.equal(left, right.cpu())
