from contextlib import nullcontext

import pytest
import torch
from torch import nn

import rebatch
from rebatch.engine.pairs import PairTask
from rebatch.models import ESIM

CPU = torch.device("cpu")


def split(count: int, seed: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Sentences of 1 to 9 words out of 20, padded with 0."""
    generator = torch.Generator().manual_seed(seed)
    sentences = []
    for _ in range(2):
        words = torch.randint(1, 20, (count, 9), generator=generator)
        lengths = torch.randint(1, 7, (count,), generator=generator)
        sentences.append(words * (torch.arange(9) < lengths[:, None]))
    return (*sentences, torch.randint(0, 3, (count,), generator=generator))


@pytest.fixture
def task() -> PairTask:
    plan = rebatch.plan(rebatch.constant(4), epochs=2, examples=30)
    held_out = {"validation": split(300, 1), "test": split(5, 2)}
    return PairTask(split(30, 0), held_out, plan, seed=0, device=CPU)


def test_batches_are_cut_at_their_longest_sentence(task):
    for batch in task.batches(1, 0):
        for sentences in batch.inputs:
            assert sentences.shape[1] == int((sentences != 0).sum(1).max())
            assert bool((sentences != 0).any(0).all())


def test_every_pair_comes_once_with_its_own_label(task):
    premises, hypotheses, labels = split(30, 0)
    known = {
        (tuple(p[p != 0].tolist()), tuple(h[h != 0].tolist())): int(label)
        for p, h, label in zip(premises, hypotheses, labels, strict=True)
    }
    seen = {}
    for batch in task.batches(0, 0):
        for p, h, label in zip(*batch.inputs, batch.targets, strict=True):
            seen[tuple(p[p != 0].tolist()), tuple(h[h != 0].tolist())] = int(label)
    assert seen == known


def test_batches_go_on_where_an_epoch_was_left(task):
    whole, rest = list(task.batches(1, 0)), list(task.batches(1, 5))
    assert len(rest) == len(whole) - 5
    assert torch.equal(rest[0].inputs[1], whole[5].inputs[1])


def test_the_first_held_out_split_picks_the_best_epoch(task):
    assert task.selects_by == "validation_accuracy"


def test_cutting_changes_no_figure(task):
    model = ESIM(torch.randn(20, 6), hidden=4).eval()
    figures = task.evaluate([model], nullcontext())
    premises, hypotheses, labels = split(300, 1)
    with torch.no_grad():
        logits = model(premises, hypotheses)
    assert figures["validation_loss"] == pytest.approx(
        nn.functional.cross_entropy(logits, labels).item(), rel=1e-5
    )
    right = (logits.argmax(1) == labels).float().mean().item()
    assert figures["validation_accuracy"] == pytest.approx(100 * right, rel=1e-6)
    assert set(figures) == {
        *("validation_loss", "validation_accuracy"),
        *("test_loss", "test_accuracy"),
    }


def test_plain_pairs_are_cut_at_their_longest_sentence(task):
    batch = task.plain_batch(4, seed=0)
    assert len(batch.targets) == 4
    for sentences in batch.inputs:
        assert sentences.shape[1] == int((sentences != 0).sum(1).max())
