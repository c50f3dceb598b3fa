"""Accumulated micro-batches against one large batch, in double precision."""

from functools import partial

import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy, mse_loss
from torch.utils.data import DataLoader, TensorDataset

import rebatch
from rebatch.data import PlannedBatchSampler, pieces


def plan():
    """Updates of 16, 16 and a last partial one of 5."""
    return rebatch.plan(rebatch.constant(16), epochs=1, examples=37)


def mlp():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(6, 12), nn.Tanh(), nn.Linear(12, 3)).double()


class Reader(nn.Module):
    """An LSTM that predicts a word at every place; 0 is padding."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.words = nn.Embedding(11, 5, dtype=torch.float64)
        self.lstm = nn.LSTM(5, 7, batch_first=True, dtype=torch.float64)
        self.out = nn.Linear(7, 11, dtype=torch.float64)

    def forward(self, words):
        return self.out(self.lstm(self.words(words))[0])


def numbers():
    generator = torch.Generator().manual_seed(1)
    inputs = torch.randn(37, 6, generator=generator, dtype=torch.float64)
    return TensorDataset(inputs, torch.randn(37, 3, generator=generator, dtype=torch.float64))


def sentences(shortest=2):
    generator = torch.Generator().manual_seed(2)
    words = torch.randint(1, 11, (37, 9), generator=generator)
    lengths = torch.randint(shortest, 10, (37, 1), generator=generator)
    return TensorDataset(torch.where(torch.arange(9) < lengths, words, 0))


def distance(model, batch):
    return mse_loss(model(batch[0]), batch[1])


def surprise(model, batch):
    """The mean over the tokens that are there."""
    (words,) = batch
    scores = model(words[:, :-1])
    return cross_entropy(scores.flatten(0, 1), words[:, 1:].flatten(), ignore_index=0)


def masked(model, batch, at_least):
    """The same mean, written out."""
    (words,) = batch
    scores, targets = model(words[:, :-1]).flatten(0, 1), words[:, 1:].flatten()
    mask = targets != 0
    losses = cross_entropy(scores, targets, reduction="none")
    return (losses * mask).sum() / mask.sum().clamp(min=at_least)


def predicted(batch):
    return int((batch[0][:, 1:] != 0).sum())


def gradients(model, dataset, loss, *, micro_batch_size=None, ranks=1, tokens=None):
    """Return the gradient of each update, the sum over pieces averaged over ranks."""
    found = [torch.zeros(0)] * 3
    for rank in range(ranks):
        sampler = PlannedBatchSampler(
            plan(), 4, rank=rank, world_size=ranks, micro_batch_size=micro_batch_size
        )
        loader = DataLoader(dataset, batch_sampler=sampler)
        model.zero_grad()
        for piece, batch in pieces(sampler, loader, tokens=tokens):
            (loss(model, batch) * piece.weight).backward()
            if piece.last:
                flat = torch.cat([weight.grad.flatten() for weight in model.parameters()]) / ranks
                so_far = found[piece.update]
                found[piece.update] = so_far + flat if len(so_far) else flat
                model.zero_grad()
    return found


def difference(ones, others):
    return max((one - other).abs().max().item() for one, other in zip(ones, others, strict=True))


@pytest.mark.parametrize("micro_batch_size", [1, 3, 5, 7, 16])
def test_pieces_of_any_size_add_up_to_the_large_batch(micro_batch_size):
    model, data = mlp(), numbers()
    whole = gradients(model, data, distance)
    summed = gradients(model, data, distance, micro_batch_size=micro_batch_size)
    assert difference(whole, summed) < 1e-10
    assert whole[2].abs().max() > 1e-3


@pytest.mark.parametrize("ranks", [2, 3, 8])
def test_ranks_add_up_to_the_large_batch_with_fillers_too(ranks):
    model, data = mlp(), numbers()
    shared = gradients(model, data, distance, ranks=ranks, micro_batch_size=2)
    assert difference(gradients(model, data, distance), shared) < 1e-10


def test_weights_by_tokens_add_up_where_sequences_differ_in_length():
    model, data = Reader(), sentences()
    whole = gradients(model, data, surprise)
    by_tokens = gradients(model, data, surprise, micro_batch_size=5, tokens=predicted)
    assert difference(whole, by_tokens) < 1e-10
    by_samples = gradients(model, data, surprise, micro_batch_size=5)
    assert difference(whole, by_samples) > 1e-4


def test_a_piece_without_a_token_adds_nothing_where_the_sum_is_divided_by_at_least_1():
    model, data = Reader(), sentences(shortest=1)
    assert 0 in [predicted([words[None]]) for (words,) in data]
    alone = {"micro_batch_size": 1, "tokens": predicted}
    by_0, by_1 = (gradients(model, data, partial(masked, at_least=n), **alone) for n in (0, 1))
    assert any(update.isnan().any() for update in by_0)
    assert difference(gradients(model, data, surprise), by_1) < 1e-10
