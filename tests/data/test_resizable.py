from itertools import chain

import pytest
import torch
from torch.utils.data import DataLoader, SequentialSampler, TensorDataset

import rebatch
from rebatch.data import ResizableBatchSampler


def resized_after(batches, size, *, drop_last):
    """Draw batches of 2 from 11 samples, then change the size."""
    sampler = ResizableBatchSampler(SequentialSampler(range(11)), 2, drop_last)
    drawn = iter(sampler)
    first = [next(drawn) for _ in range(batches)]
    sampler.size = size
    return first, sampler, drawn


def test_a_change_inside_an_epoch_applies_to_the_next_batch():
    first, _, drawn = resized_after(2, 4, drop_last=False)
    assert first + list(drawn) == [[0, 1], [2, 3], [4, 5, 6, 7], [8, 9, 10]]


def test_a_change_inside_an_epoch_applies_to_the_next_batch_with_drop_last():
    first, _, drawn = resized_after(2, 4, drop_last=True)
    assert first + list(drawn) == [[0, 1], [2, 3], [4, 5, 6, 7]]


def test_a_smaller_size_leaves_less_to_drop():
    first, _, drawn = resized_after(1, 3, drop_last=True)
    assert first + list(drawn) == [[0, 1], [2, 3, 4], [5, 6, 7], [8, 9, 10]]


@pytest.mark.parametrize(("drop_last", "length"), [(False, 4), (True, 3)])
def test_the_length_is_what_was_drawn_and_what_remains_at_the_present_size(drop_last, length):
    first, sampler, drawn = resized_after(2, 4, drop_last=drop_last)
    assert len(sampler) == length == len(first) + len(list(drawn))


def test_the_length_is_that_of_the_next_epoch_when_one_is_over():
    _, sampler, drawn = resized_after(2, 4, drop_last=False)
    assert len(list(drawn)) == 2
    assert len(sampler) == 3 == len(list(sampler))


def test_the_length_is_that_of_the_next_epoch_when_a_loop_breaks_off():
    sampler = ResizableBatchSampler(range(11), 2)
    for _ in sampler:
        break
    sampler.size = 4
    assert len(sampler) == 3


def test_a_pass_that_is_still_open_does_not_disturb_the_next_one():
    sampler = ResizableBatchSampler(range(11), 2)
    old = iter(sampler)
    next(old)
    new = iter(sampler)
    next(new), next(new)
    del old
    sampler.size = 7
    assert len(sampler) == 3


@pytest.mark.parametrize("workers", [0, 2])
def test_a_dataloader_delivers_every_sample_once_when_the_size_changes(workers):
    sampler = ResizableBatchSampler(range(50), 2)
    loader = DataLoader(TensorDataset(torch.arange(50)), batch_sampler=sampler, num_workers=workers)
    seen = []
    for number, (batch,) in enumerate(loader):
        if number == 3:
            sampler.size = 10
        seen.append(batch.tolist())
    assert list(chain(*seen)) == list(range(50))
    assert max(len(batch) for batch in seen) == 10


def test_there_is_no_batch_size_that_accelerate_could_cut_by():
    assert not hasattr(ResizableBatchSampler(range(4), 2), "batch_size")


def test_a_size_of_0_is_refused():
    with pytest.raises(rebatch.InputError, match="batch_size must be a whole number of at least 1"):
        ResizableBatchSampler(range(4), 0)
