import pytest
import torch
from torch.utils.data import DataLoader, TensorDataset

import rebatch
from rebatch.data import PlannedBatchSampler, pieces


def constant(size, examples, epochs=1):
    return rebatch.plan(rebatch.constant(size), epochs=epochs, examples=examples)


def walk(sampler, **options):
    """Pair the sampler with its own lists of indices."""
    return list(pieces(sampler, sampler, **options))


def test_weights_are_the_share_of_the_update():
    sampler = PlannedBatchSampler(constant(10, 13), micro_batch_size=4, shuffle=False)
    found = [(p.update, p.batch_size, p.samples, p.weight, p.last) for p, _ in walk(sampler)]
    assert found == [
        (0, 10, 4, 0.4, False),
        (0, 10, 4, 0.4, False),
        (0, 10, 2, 0.2, True),
        (1, 3, 3, 1.0, True),
    ]


def test_weights_make_up_for_the_average_over_ranks():
    found = [
        [p.weight for p, _ in walk(PlannedBatchSampler(constant(5, 6), rank=rank, world_size=2))]
        for rank in range(2)
    ]
    assert found == [[1.2, 2.0], [0.8, 0.0]]


def test_a_filler_counts_no_samples():
    sampler = PlannedBatchSampler(constant(5, 6), rank=1, world_size=2)
    filler, indices = walk(sampler)[-1]
    assert (filler.samples, filler.weight, filler.last, len(indices)) == (0, 0.0, True, 1)


def test_updates_are_counted_from_the_start_of_training():
    sampler = PlannedBatchSampler(constant(5, 20, epochs=3))
    sampler.set_epoch(2)
    assert [piece.update for piece, _ in walk(sampler)] == [8, 9, 10, 11]


def test_a_piece_says_what_to_save_once_it_is_done():
    sampler = PlannedBatchSampler(constant(4, 8, epochs=2), micro_batch_size=2)
    sampler.set_epoch(1)
    assert [piece.updates_done for piece, _ in walk(sampler)] == [0, 1, 1, 2]


def test_a_loaded_position_is_respected():
    sampler = PlannedBatchSampler(constant(4, 12, epochs=2), micro_batch_size=3)
    sampler.load_state_dict(sampler.state_dict(updates_done=1))
    found = [(piece.update, piece.samples, piece.updates_done) for piece, _ in walk(sampler)]
    assert found == [(1, 3, 1), (1, 1, 2), (2, 3, 2), (2, 1, 3)]


@pytest.mark.parametrize("workers", [0, 2])
def test_pieces_fit_their_batches_however_far_the_workers_read_ahead(workers):
    schedule = rebatch.cyclical(3, width=2, steps=3, clock="updates")
    plan = rebatch.plan(schedule, epochs=1, examples=60)
    sampler = PlannedBatchSampler(plan, micro_batch_size=5)
    loader = DataLoader(TensorDataset(torch.arange(60)), batch_sampler=sampler, num_workers=workers)
    counts = [(piece.samples, len(batch)) for piece, (batch,) in pieces(sampler, loader)]
    assert sum(samples for samples, _ in counts) == 60
    assert all(samples == size for samples, size in counts)


def test_an_epoch_set_by_the_loader_as_it_starts_is_seen():
    sampler = PlannedBatchSampler(constant(5, 10, epochs=3))

    def loader():
        sampler.set_epoch(2)
        yield from sampler

    assert [piece.update for piece, _ in pieces(sampler, loader())] == [4, 5]


def test_a_data_set_of_another_length_is_refused():
    sampler = PlannedBatchSampler(constant(5, 10))
    loader = DataLoader(TensorDataset(torch.arange(11)), batch_sampler=sampler)
    with pytest.raises(rebatch.InputError, match=r"dataset must have 10 samples.* got 11"):
        pieces(sampler, loader)


def test_a_loader_that_delivers_too_little_is_refused():
    sampler = PlannedBatchSampler(constant(5, 20))
    with pytest.raises(rebatch.InputError, match="got 3 batches too few"):
        list(pieces(sampler, [[1]]))


def test_a_loader_that_delivers_too_much_is_refused():
    sampler = PlannedBatchSampler(constant(5, 10))
    with pytest.raises(rebatch.InputError, match="must deliver 2 batches, as planned, got more"):
        list(pieces(sampler, [[1], [2], [3]]))


def test_a_sampler_needs_a_loader():
    with pytest.raises(rebatch.InputError, match="loader must be given"):
        pieces(PlannedBatchSampler(constant(5, 10)))


class TestTokens:
    def test_weights_go_by_tokens(self):
        sampler = PlannedBatchSampler(constant(4, 6), micro_batch_size=2, shuffle=False)
        found = [
            (indices, piece.weight) for piece, indices in walk(sampler, tokens=lambda i: sum(i))
        ]
        assert found == [([0, 1], 1 / 6), ([2, 3], 5 / 6), ([4, 5], 1.0)]

    def test_an_update_without_a_token_weighs_nothing(self):
        sampler = PlannedBatchSampler(constant(4, 4))
        assert [piece.weight for piece, _ in walk(sampler, tokens=lambda _: 0)] == [0.0]

    def test_several_ranks_need_a_process_group(self):
        sampler = PlannedBatchSampler(constant(4, 4), rank=0, world_size=2)
        with pytest.raises(rebatch.InputError, match=r"initialise torch\.distributed"):
            walk(sampler, tokens=len)

    def test_one_update_is_held_at_a_time(self):
        sampler = PlannedBatchSampler(constant(4, 12), micro_batch_size=2, shuffle=False)
        drawn = []

        def loader():
            for indices in sampler:
                drawn.append(indices)
                yield indices

        next(pieces(sampler, loader(), tokens=len))
        assert drawn == [[0, 1], [2, 3]]
