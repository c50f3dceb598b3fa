import math
from contextlib import nullcontext

import pytest
import torch
from torch.nn.functional import cross_entropy

import rebatch
from rebatch.engine.language import LanguageTask
from rebatch.errors import InputError
from rebatch.models import LanguageModel

CPU = torch.device("cpu")
TOKENS = torch.randint(0, 9, (437,), generator=torch.Generator().manual_seed(3))


@pytest.fixture
def task() -> LanguageTask:
    plan = rebatch.plan(rebatch.parse("CBS-1-2", 3), epochs=2, tokens=437, bptt=7)
    return LanguageTask(TOKENS, {"valid": TOKENS}, plan, device=CPU, bptt=7)


def models(number: int) -> list[LanguageModel]:
    made = []
    for seed in range(number):
        torch.manual_seed(seed)
        model = LanguageModel(9, 5).eval()
        with torch.no_grad():
            model.decoder.weight.mul_(30 * (seed + 1))
        made.append(model)
    return made


def perplexity(task: LanguageTask, *members: LanguageModel) -> float:
    return task.evaluate(members, nullcontext())["valid_perplexity"]


def test_a_stream_is_read_in_ten_columns_with_carried_state(task):
    (model,) = models(1)
    columns = TOKENS[:430].view(10, 43).t()
    with torch.no_grad():
        logits, _ = model(columns[:-1], model.initial_state(10))
    expected = cross_entropy(logits.flatten(0, 1), columns[1:].flatten())
    figures = task.evaluate([model], nullcontext())
    assert figures["valid_loss"] == pytest.approx(expected.item(), rel=1e-6)
    assert figures["valid_perplexity"] == pytest.approx(math.exp(expected.item()), rel=1e-5)


def test_the_number_of_columns_is_a_choice(task):
    plan = task.feed.plan
    one = LanguageTask(TOKENS, {"valid": TOKENS}, plan, device=CPU, bptt=7, columns=1)
    (model,) = models(1)
    with torch.no_grad():
        logits, _ = model(TOKENS[:-1, None], model.initial_state(1))
    expected = cross_entropy(logits.flatten(0, 1), TOKENS[1:])
    assert one.evaluate([model], nullcontext())["valid_loss"] == pytest.approx(
        expected.item(), rel=1e-6
    )


def test_an_ensemble_averages_probabilities_of_members_with_states_of_their_own(task):
    members = models(3)
    columns = TOKENS[:430].view(10, 43).t()
    with torch.no_grad():
        chances = [m(columns[:-1], m.initial_state(10))[0].softmax(-1) for m in members]
    mean = torch.stack(chances).mean(0)
    right = mean.gather(-1, columns[1:].unsqueeze(-1))
    expected = math.exp(-right.log().mean().item())
    assert perplexity(task, *members) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("number", [2, 3, 5])
def test_an_ensemble_is_never_worse_than_the_geometric_mean_of_its_members(task, number):
    members = models(number)
    alone = [perplexity(task, member) for member in members]
    geometric = math.exp(sum(map(math.log, alone)) / number)
    assert perplexity(task, *members) < geometric
    assert perplexity(task, members[0], members[0]) == pytest.approx(alone[0], rel=1e-6)


def test_a_stream_too_short_for_the_columns_is_refused(task):
    plan = task.feed.plan
    with pytest.raises(InputError) as error:
        LanguageTask(TOKENS, {"valid": TOKENS[:19]}, plan, device=CPU)
    assert str(error.value) == (
        "valid must have at least 20 tokens to be read in 10 columns, got 19"
    )


def test_batches_go_on_where_an_epoch_was_left(task):
    whole = list(task.batches(1, 0))
    rest = list(task.batches(1, 3))
    assert [batch.reset for batch in whole] == [True] + [False] * 10
    assert len(rest) == len(whole) - 3
    assert not rest[0].reset
    assert torch.equal(rest[0].inputs[0], whole[3].inputs[0])


def test_an_impossible_loss_still_gives_a_finite_perplexity(task):
    (model,) = models(1)
    with torch.no_grad():
        model.decoder.weight.fill_(0)
        model.decoder.bias.copy_(torch.tensor([1e5] + [0.0] * 8))
    assert perplexity(task, model) == pytest.approx(math.exp(700))


def test_plain_columns_are_pieces_of_the_text(task):
    (inputs,), targets, reset = task.plain_batch(5, seed=1)[:3]
    assert inputs.shape == targets.shape == (7, 5)
    assert reset
    text = TOKENS.tolist()
    pieces = [text[start : start + 8] for start in range(430)]
    for column in range(5):
        assert [*inputs[:, column].tolist(), int(targets[-1, column])] in pieces
