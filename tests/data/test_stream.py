import json
import warnings

import pytest
import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset, get_worker_info

import rebatch
from rebatch.data import Dealt, PlannedStream, pieces


class Numbers(IterableDataset):
    """Counts up, without saying how far, and takes no account of workers."""

    def __init__(self, count):
        self.count = count

    def __iter__(self):
        return iter(range(self.count))


class SharedNumbers(Numbers):
    """Counts up and shares itself out among the workers, as torch's documentation asks."""

    def __iter__(self):
        worker = get_worker_info()
        start, step = (0, 1) if worker is None else (worker.id, worker.num_workers)
        return iter(range(start, self.count, step))


class Batches(Dataset):
    """A map-style data set whose items are whole batches of its own size."""

    def __init__(self, count, size):
        self.samples = torch.arange(count).split(size)

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, index):
        return {"number": self.samples[index], "name": [str(n.item()) for n in self.samples[index]]}


def cycle(epochs=3, examples=100, **options):
    """A plan of 10, 20, 40 over 100 samples."""
    return rebatch.plan(
        rebatch.cyclical(10, width=1, steps=3), epochs=epochs, examples=examples, **options
    )


def endless(updates=6):
    """A plan of 4, 4, 8, 8, 4, 4 over a stream nobody has counted."""
    return rebatch.plan(rebatch.cyclical(4, width=2, steps=2, clock="updates"), updates=updates)


def lists(stream):
    return [batch.tolist() for batch in stream]


def flat(batches):
    return [sample for batch in batches for sample in batch]


def test_a_stream_without_length_is_cut_as_planned():
    batches = lists(PlannedStream(Numbers(10**9), endless()))
    assert [len(batch) for batch in batches] == [4, 4, 8, 8, 4, 4]
    assert flat(batches) == list(range(32))


def test_every_epoch_reads_the_stream_anew():
    stream = PlannedStream(Numbers(100), cycle())
    for epoch, length in enumerate((10, 5, 3)):
        stream.set_epoch(epoch)
        batches = lists(stream)
        assert len(batches) == len(stream) == length
        assert flat(batches) == list(range(100))


@pytest.mark.parametrize("workers", [0, 1, 2])
def test_dealt_to_workers_the_samples_keep_their_order(workers):
    source = DataLoader(Dealt(Numbers(50)), batch_size=None, num_workers=workers)
    batches = lists(PlannedStream(source, cycle(1, 50)))
    assert flat(batches) == list(range(50))
    assert [len(batch) for batch in batches] == [10] * 5


@pytest.mark.parametrize("persistent", [False, True])
def test_a_stream_that_shares_itself_out_gives_every_sample_once(persistent):
    source = DataLoader(
        SharedNumbers(50), batch_size=None, num_workers=2, persistent_workers=persistent
    )
    stream = PlannedStream(source, cycle(2, 50))
    for epoch, size in enumerate((10, 20)):
        stream.set_epoch(epoch)
        batches = lists(stream)
        assert len(batches[0]) == size
        assert sorted(flat(batches)) == list(range(50))


def test_a_planned_stream_inside_a_worker_is_refused():
    loader = DataLoader(PlannedStream(Numbers(100), cycle()), batch_size=None, num_workers=1)
    with pytest.raises(rebatch.InputError, match="give the workers to its source"):
        list(loader)


def test_batches_of_a_data_set_are_cut_anew_with_persistent_workers():
    source = DataLoader(Batches(100, 16), batch_size=None, num_workers=2, persistent_workers=True)
    stream = PlannedStream(source, cycle(), chunked=True)
    for epoch, sizes in enumerate(([10] * 10, [20] * 5, [40, 40, 20])):
        stream.set_epoch(epoch)
        batches = list(stream)
        assert [len(batch["number"]) for batch in batches] == sizes
        assert torch.cat([batch["number"] for batch in batches]).tolist() == list(range(100))
        assert batches[-1]["name"][-1] == "99"


def test_ranks_share_every_update_of_a_stream():
    plan = rebatch.plan(rebatch.constant(10), epochs=1, examples=21)
    ranks = [lists(PlannedStream(Numbers(21), plan, rank=rank, world_size=2)) for rank in range(2)]
    assert ranks[0] == [[0, 1, 2, 3, 4], [10, 11, 12, 13, 14], [20]]
    assert ranks[1] == [[5, 6, 7, 8, 9], [15, 16, 17, 18, 19], [20]]


def test_pieces_of_a_stream_know_their_weight():
    plan = rebatch.plan(rebatch.constant(9), epochs=1, examples=9)
    stream = PlannedStream(Numbers(9), plan, rank=1, world_size=2, micro_batch_size=2)
    found = [(batch.tolist(), piece.weight, piece.last) for piece, batch in pieces(stream)]
    assert found == [([5, 6], 4 / 9, False), ([7, 8], 4 / 9, False), ([5], 0.0, True)]


def test_chunks_are_shared_and_cut_in_pieces_too():
    plan = rebatch.plan(rebatch.constant(9), epochs=1, examples=9)
    source = list(torch.arange(9).split(4))
    found = []
    for rank in range(2):
        stream = PlannedStream(
            source, plan, rank=rank, world_size=2, micro_batch_size=2, chunked=True
        )
        found.append([(batch.tolist(), piece.samples) for piece, batch in pieces(stream)])
    assert found[0] == [([0, 1], 2), ([2, 3], 2), ([4], 1)]
    assert found[1] == [([5, 6], 2), ([7, 8], 2), ([5], 0)]


class TestEnds:
    def test_a_short_stream_gives_what_there_is_and_says_so(self):
        stream = PlannedStream(Numbers(25), cycle())
        with pytest.warns(UserWarning, match="ended after 25 of the 100 samples planned for epoch"):
            batches = lists(stream)
        assert [len(batch) for batch in batches] == [10, 10, 5]
        assert stream.ended_early

    def test_the_last_batch_of_a_short_stream_has_its_true_weights(self):
        plan = rebatch.plan(rebatch.constant(8), epochs=1, examples=80)
        found = []
        for rank in range(2):
            stream = PlannedStream(Numbers(6), plan, rank=rank, world_size=2, micro_batch_size=3)
            with pytest.warns(UserWarning, match="ended after 6"):
                found.append([(b.tolist(), p.weight, p.batch_size) for p, b in pieces(stream)])
        assert found[0] == [([0, 1, 2], 1.0, 6), ([3], 1 / 3, 6)]
        assert found[1] == [([4, 5], 2 / 3, 6), ([4], 0.0, 6)]

    def test_drop_last_leaves_the_short_batch_out(self):
        stream = PlannedStream(Numbers(25), cycle(drop_last=True))
        with pytest.warns(UserWarning, match="ended after 25"):
            assert [len(batch) for batch in stream] == [10, 10]

    def test_a_longer_stream_than_an_epoch_is_said(self):
        stream = PlannedStream(Numbers(101), cycle())
        with pytest.warns(UserWarning, match="goes on after the 100 samples that epoch 0"):
            assert len(lists(stream)) == 10

    def test_a_longer_stream_than_the_only_epoch_is_said_too(self):
        with pytest.warns(UserWarning, match="goes on after the 100 samples that epoch 0"):
            lists(PlannedStream(Numbers(101), cycle(epochs=1)))

    def test_what_drop_last_leaves_out_is_no_surprise(self):
        stream = PlannedStream(Numbers(105), cycle(examples=105, drop_last=True))
        assert len(lists(stream)) == 10
        assert not stream.ended_early

    def test_a_plan_of_one_pass_stops_where_it_ends(self):
        stream = PlannedStream(Numbers(10**9), endless())
        assert len(lists(stream)) == 6
        assert not stream.ended_early


class TestState:
    def test_a_loaded_stream_skips_what_was_read(self):
        stream = PlannedStream(Numbers(10**9), endless())
        state = json.loads(json.dumps(stream.state_dict(updates_done=3)))
        resumed = PlannedStream(Numbers(10**9), endless())
        resumed.load_state_dict(state)
        assert len(resumed) == 3
        assert lists(resumed) == lists(stream)[3:]

    def test_chunks_are_skipped_to_the_sample(self):
        source = list(torch.arange(100).split(7))
        stream = PlannedStream(source, endless(), chunked=True)
        whole = lists(stream)
        stream.load_state_dict(stream.state_dict(updates_done=3))
        assert lists(stream) == whole[3:]

    def test_a_source_with_a_state_of_its_own_is_not_skipped(self):
        stream = PlannedStream(range(16, 1000), endless())
        stream.load_state_dict(stream.state_dict(updates_done=3), skip=False)
        assert lists(stream)[0] == list(range(16, 24))

    def test_another_epoch_starts_at_the_beginning(self):
        stream = PlannedStream(Numbers(100), cycle())
        stream.load_state_dict(stream.state_dict(updates_done=3), skip=False)
        stream.set_epoch(1)
        assert lists(stream)[0] == list(range(20))

    def test_a_stream_that_ends_before_the_position_gives_nothing_and_says_so(self):
        stream = PlannedStream(Numbers(5), endless())
        stream.load_state_dict(stream.state_dict(updates_done=3))
        with pytest.warns(UserWarning, match="ended after 5 of the 32 samples"):
            assert lists(stream) == []

    def test_without_updates_done_it_is_what_was_drawn(self):
        stream = PlannedStream(Numbers(100), endless())
        batches = iter(stream)
        next(batches), next(batches)
        assert stream.state_dict()["updates_done"] == 2


def test_the_source_is_told_the_epoch():
    class Told(Numbers):
        def set_epoch(self, epoch):
            self.first = 1000 * epoch

        def __iter__(self):
            return iter(range(self.first, self.first + self.count))

    stream = PlannedStream(DataLoader(Dealt(Told(100)), batch_size=None), cycle())
    stream.set_epoch(2)
    assert lists(stream)[0][0] == 2000


def test_samples_are_collated_by_the_function_given():
    plan = rebatch.plan(rebatch.constant(2), epochs=1, examples=4)
    assert list(PlannedStream(["a", "b", "c", "d"], plan, collate_fn="".join)) == ["ab", "cd"]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (range(99), "source must have 100 samples, as the plan has, got 99"),
        (range(101), "source must have 100 samples, as the plan has, got 101"),
        (
            DataLoader(range(100), batch_size=5),
            "batch_size=None, or chunked must be True, got one that makes batches",
        ),
    ],
)
def test_a_source_that_does_not_fit_is_refused_at_construction(source, message):
    with pytest.raises(rebatch.InputError, match=message):
        PlannedStream(source, cycle())


def test_a_plan_of_tokens_is_pointed_to_its_loader():
    plan = rebatch.plan(rebatch.constant(10), epochs=1, tokens=1000, bptt=5)
    with pytest.raises(rebatch.InputError, match="use TokenColumns"):
        PlannedStream(range(1000), plan)


def test_a_stream_through_a_plain_loader_in_the_main_process_is_whole():
    stream = PlannedStream(Numbers(100), cycle())
    with warnings.catch_warnings(action="error"):
        assert len(list(DataLoader(stream, batch_size=None))) == 10
