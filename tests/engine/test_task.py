import torch

from rebatch.engine.task import Batch, count, joined, lower_is_better, split


def test_a_batch_is_cut_in_order_and_every_part_knows_its_place():
    batch = Batch((torch.arange(14).view(7, 2),), torch.arange(7), attacked=True)
    parts = [part for part, _ in split(batch, None, 0, 3)]
    assert [part.targets.tolist() for part in parts] == [[0, 1, 2], [3, 4, 5], [6]]
    assert [part.first for part in parts] == [0, 3, 6]
    assert parts[1].inputs[0].tolist() == [[6, 7], [8, 9], [10, 11]]
    assert all(part.attacked for part in parts)


def test_a_batch_that_fits_stays_whole():
    batch = Batch((torch.zeros(7),), torch.arange(7))
    assert split(batch, None, 0, 7) == [(batch, None)]


def test_columns_are_cut_with_their_own_memory_and_joined_again():
    batch = Batch((torch.arange(12).view(2, 6),), torch.arange(12).view(2, 6))
    memory = (torch.arange(6.0).view(1, 6, 1), -torch.arange(6.0).view(1, 6, 1))
    parts = split(batch, memory, 1, 4)
    assert [count(part, 1) for part, _ in parts] == [4, 2]
    assert parts[1][0].targets.tolist() == [[4, 5], [10, 11]]
    assert parts[1][1][0].flatten().tolist() == [4, 5]
    together = joined([memory for _, memory in parts])
    assert [torch.equal(a, b) for a, b in zip(together, memory, strict=True)] == [True, True]
    assert joined([None, None]) is None


def test_joined_memory_is_cut_off_from_its_history():
    state = torch.ones(1, 2, 1, requires_grad=True) * 2
    assert not joined([(state,)])[0].requires_grad


def test_perplexity_and_loss_are_better_when_lower():
    metrics = ("valid_perplexity", "test_loss", "test_accuracy")
    assert [lower_is_better(name) for name in metrics] == [True, True, False]
