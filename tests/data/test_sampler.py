from collections import Counter

import pytest
import torch
from torch.utils.data import (
    DataLoader,
    IterableDataset,
    RandomSampler,
    SubsetRandomSampler,
    TensorDataset,
    WeightedRandomSampler,
)

import rebatch
from rebatch.data import PlannedBatchSampler


def cycle(epochs=6, examples=100, **options):
    """A plan of 10, 20, 40, 10, 20, 40 over 100 samples."""
    return rebatch.plan(
        rebatch.cyclical(10, width=1, steps=3), epochs=epochs, examples=examples, **options
    )


class Lines(IterableDataset):
    """What has no indices."""

    def __iter__(self):
        yield from ()


def sizes(batches):
    return [len(batch) for batch in batches]


def flat(batches):
    return [index for batch in batches for index in batch]


def epoch_of(sampler, epoch):
    sampler.set_epoch(epoch)
    return list(sampler)


def test_batches_follow_the_plan_and_hold_every_sample_once():
    sampler = PlannedBatchSampler(cycle(examples=105))
    assert sizes(epoch_of(sampler, 0)) == [10] * 10 + [5]
    assert sizes(epoch_of(sampler, 1)) == [20] * 5 + [5]
    assert sizes(epoch_of(sampler, 2)) == [40, 40, 25]
    assert sizes(epoch_of(sampler, 3)) == [10] * 10 + [5]
    assert sorted(flat(epoch_of(sampler, 2))) == list(range(105))


def test_the_size_changes_inside_an_epoch_with_the_update_clock():
    schedule = rebatch.cyclical(4, width=3, steps=2, clock="updates")
    sampler = PlannedBatchSampler(rebatch.plan(schedule, epochs=1, examples=50), shuffle=False)
    assert sizes(sampler) == [4, 4, 4, 8, 8, 8, 4, 4, 4, 2]
    assert flat(sampler) == list(range(50))


def test_the_size_changes_inside_an_epoch_with_drop_last():
    schedule = rebatch.cyclical(4, width=3, steps=2, clock="updates")
    plan = rebatch.plan(schedule, epochs=1, examples=50, drop_last=True)
    sampler = PlannedBatchSampler(plan, shuffle=False)
    assert sizes(sampler) == [4, 4, 4, 8, 8, 8, 4, 4, 4]
    assert len(sampler) == 9
    assert flat(sampler) == list(range(48))


def test_a_cap_below_the_peak_clips_the_cycle_and_does_not_end_it():
    schedule = rebatch.clamp(rebatch.cyclical(10, width=1), high=50)
    sampler = PlannedBatchSampler(rebatch.plan(schedule, epochs=6, examples=400))
    assert [len(epoch_of(sampler, epoch)[0]) for epoch in range(6)] == [10, 20, 40, 50, 10, 20]


def test_a_batch_larger_than_the_data_is_one_update():
    plan = rebatch.plan(rebatch.constant(64), epochs=2, examples=10)
    assert sizes(PlannedBatchSampler(plan)) == [10]


def test_an_epoch_that_drop_last_leaves_empty_gives_nothing():
    plan = rebatch.plan(
        rebatch.cyclical(10, width=1, steps=2), epochs=2, examples=15, drop_last=True
    )
    sampler = PlannedBatchSampler(plan)
    assert sizes(epoch_of(sampler, 0)) == [10]
    assert (len(sampler), epoch_of(sampler, 1), len(sampler)) == (1, [], 0)


def test_the_order_comes_from_seed_and_epoch_alone():
    orders = {
        (seed, epoch): tuple(flat(epoch_of(PlannedBatchSampler(cycle(), seed), epoch)))
        for seed in (0, 1)
        for epoch in (0, 1)
    }
    assert len(set(orders.values())) == 4
    other = rebatch.plan(rebatch.constant(7), epochs=2, examples=100)
    assert tuple(flat(epoch_of(PlannedBatchSampler(other, 1), 1))) == orders[1, 1]


def test_without_shuffling_the_order_is_that_of_the_data():
    assert flat(PlannedBatchSampler(cycle(), shuffle=False)) == list(range(100))


def test_indices_are_plain_numbers():
    assert {type(index) for index in flat(PlannedBatchSampler(cycle()))} == {int}


def test_ranks_share_every_batch_without_gap_or_overlap():
    ranks = [
        list(PlannedBatchSampler(cycle(examples=105), rank=rank, world_size=4)) for rank in range(4)
    ]
    assert [sizes(batches[-1:]) for batches in ranks] == [[2], [1], [1], [1]]
    assert [sizes(batches[:2]) for batches in ranks] == [[3, 3], [3, 3], [2, 2], [2, 2]]
    whole = list(PlannedBatchSampler(cycle(examples=105)))
    assert [flat(shares) for shares in zip(*ranks, strict=True)] == whole


def test_a_rank_with_nothing_in_an_update_gets_one_filler():
    plan = rebatch.plan(rebatch.constant(8), epochs=1, examples=9)
    ranks = [list(PlannedBatchSampler(plan, rank=rank, world_size=2)) for rank in range(2)]
    assert sizes(ranks[0]) == [4, 1]
    assert sizes(ranks[1]) == [4, 1]
    assert ranks[1][1] == ranks[0][1]


def test_micro_batches_cut_an_update_and_len_counts_them():
    plan = rebatch.plan(rebatch.constant(10), epochs=1, examples=25)
    sampler = PlannedBatchSampler(plan, micro_batch_size=4)
    assert sizes(sampler) == [4, 4, 2, 4, 4, 2, 4, 1]
    assert len(sampler) == 8


def test_every_rank_makes_the_same_number_of_pieces():
    plan = rebatch.plan(rebatch.constant(9), epochs=1, examples=9)
    ranks = [
        list(PlannedBatchSampler(plan, rank=rank, world_size=2, micro_batch_size=2))
        for rank in range(2)
    ]
    assert [sizes(batches) for batches in ranks] == [[2, 2, 1], [2, 2, 1]]


def test_there_is_no_batch_size_to_be_misled_by():
    assert not hasattr(PlannedBatchSampler(cycle()), "batch_size")


def test_the_length_is_that_of_the_epoch_about_to_run():
    sampler = PlannedBatchSampler(cycle())
    lengths = []
    for epoch in range(6):
        sampler.set_epoch(epoch)
        lengths.append(len(sampler))
    assert lengths == [10, 5, 3, 10, 5, 3]


def test_iterating_moves_nothing():
    sampler = PlannedBatchSampler(cycle())
    assert list(sampler) == list(sampler)
    assert (sampler.epoch, len(sampler)) == (0, 10)


def test_forgetting_set_epoch_is_said():
    sampler = PlannedBatchSampler(cycle())
    list(sampler), list(sampler)
    with pytest.warns(UserWarning, match="epoch 0 starts for the third time: call set_epoch"):
        list(sampler)


def test_the_epoch_is_set_where_frameworks_look_for_it():
    sampler = PlannedBatchSampler(cycle())
    sampler.sampler.set_epoch(2)
    assert len(sampler) == 3


def test_an_iteration_keeps_the_epoch_it_started_with():
    sampler = PlannedBatchSampler(cycle())
    first = iter(sampler)
    sampler.set_epoch(2)
    assert sizes(first) == [10] * 10


class TestOwnSampler:
    def test_a_subset_is_cut_as_planned(self):
        own = SubsetRandomSampler(range(500, 600))
        batches = list(PlannedBatchSampler(cycle(), sampler=own))
        assert sizes(batches) == [10] * 10
        assert sorted(flat(batches)) == list(range(500, 600))

    @pytest.mark.parametrize(
        "own",
        [
            WeightedRandomSampler([1.0, 2.0, 3.0], 100),
            RandomSampler(range(100)),
            RandomSampler(range(100), generator=torch.Generator()),
        ],
    )
    def test_random_draws_are_the_same_on_every_rank_and_differ_by_epoch(self, own):
        sampler = PlannedBatchSampler(cycle(), sampler=own)
        first = flat(epoch_of(sampler, 0))
        assert flat(epoch_of(sampler, 0)) == first
        assert flat(epoch_of(sampler, 1)) != first

    def test_drawing_leaves_the_randomness_of_the_user_alone(self):
        sampler = PlannedBatchSampler(cycle(), sampler=RandomSampler(range(100)))
        torch.manual_seed(0)
        expected = torch.rand(1)
        torch.manual_seed(0)
        list(sampler)
        assert torch.equal(torch.rand(1), expected)

    def test_it_is_told_the_epoch(self):
        class Told(list):
            def set_epoch(self, epoch):
                self[:] = [1000 * epoch + index for index in range(100)]

        sampler = PlannedBatchSampler(cycle(), sampler=Told(range(100)))
        assert flat(epoch_of(sampler, 2))[:3] == [2000, 2001, 2002]

    def test_indices_may_be_anything(self):
        own = [("shard", index) for index in range(100)]
        assert next(iter(PlannedBatchSampler(cycle(), sampler=own)))[1] == ("shard", 1)

    def test_another_length_than_planned_is_refused_at_once(self):
        with pytest.raises(rebatch.InputError, match=r"sampler must have 100 samples.* got 90"):
            PlannedBatchSampler(cycle(), sampler=range(90))

    def test_drawing_another_number_than_it_says_is_refused(self):
        class Liar(list):
            def __len__(self):
                return 100

        with pytest.raises(rebatch.InputError, match="sampler must draw the 100 samples"):
            list(PlannedBatchSampler(cycle(), sampler=Liar([1, 2, 3])))


class TestWrongInput:
    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"dataset": range(99)}, "dataset must have 100 samples, as the plan has, got 99"),
            ({"dataset": Lines()}, "dataset must be one with indices: PlannedStream .* got Lines"),
            ({"rank": 2, "world_size": 2}, "rank must be below the world size of 2, got 2"),
            ({"rank": -1}, "rank must be a whole number of at least 0, got -1"),
            ({"world_size": 0}, "world_size must be a whole number of at least 1, got 0"),
            ({"micro_batch_size": 0}, "micro_batch_size must be a whole number of at least 1"),
            ({"micro_batch_size": 41}, "at most the largest batch size of the plan, 40, got 41"),
            ({"seed": -1}, "seed must be a whole number of at least 0, got -1"),
        ],
    )
    def test_is_refused_at_construction(self, options, message):
        with pytest.raises(rebatch.InputError, match=message):
            PlannedBatchSampler(cycle(), **options)

    @pytest.mark.parametrize("workers", [0, 2])
    @pytest.mark.parametrize("count", [99, 101])
    def test_a_loader_over_other_data_than_planned_is_refused_when_it_starts(self, workers, count):
        sampler = PlannedBatchSampler(cycle())
        loader = DataLoader(range(count), batch_sampler=sampler, num_workers=workers)
        with pytest.raises(rebatch.InputError, match=f"must have 100 samples.* got {count}"):
            next(iter(loader))

    def test_a_schedule_is_no_plan(self):
        with pytest.raises(rebatch.InputError, match=r"plan must be one that rebatch\.plan made"):
            PlannedBatchSampler(rebatch.constant(10))

    def test_a_plan_of_tokens_is_pointed_to_its_loader(self):
        plan = rebatch.plan(rebatch.constant(10), epochs=1, tokens=1000, bptt=5)
        with pytest.raises(rebatch.InputError, match="use TokenColumns"):
            PlannedBatchSampler(plan)

    def test_an_epoch_after_the_last_is_refused(self):
        with pytest.raises(rebatch.InputError, match="epoch must be from 0 to 5, got 6"):
            PlannedBatchSampler(cycle()).set_epoch(6)


@pytest.mark.parametrize(
    ("workers", "persistent"), [(0, False), (2, False), (2, True)], ids=["none", "new", "kept"]
)
def test_a_loader_delivers_every_sample_once_an_epoch(workers, persistent):
    sampler = PlannedBatchSampler(cycle(epochs=3), micro_batch_size=16)
    dataset = TensorDataset(torch.arange(100))
    loader = DataLoader(
        dataset, batch_sampler=sampler, num_workers=workers, persistent_workers=persistent
    )
    for epoch, length in enumerate((10, 10, 8)):
        sampler.set_epoch(epoch)
        seen = [batch for (batch,) in loader]
        assert len(seen) == len(loader) == length
        assert Counter(torch.cat(seen).tolist()) == Counter(range(100))
