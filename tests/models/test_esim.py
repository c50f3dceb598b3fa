from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.nn.functional import pad

from rebatch.errors import InputError
from rebatch.models import ESIM

forms = pytest.mark.parametrize("form", ["nyu-mll", "chen"])


def small(form: str, **arguments: bool | None) -> ESIM:
    return ESIM(torch.randn(50, 12), form=form, hidden=8, **arguments)  # type: ignore[arg-type]


def pairs() -> tuple[Tensor, Tensor]:
    """Four pairs of different lengths, the last with an empty hypothesis."""
    premise = torch.randint(1, 50, (4, 7)) * (torch.arange(7) < torch.tensor([[7], [2], [5], [1]]))
    other = torch.randint(1, 50, (4, 5)) * (torch.arange(5) < torch.tensor([[3], [5], [1], [0]]))
    return premise, other


@pytest.mark.parametrize(("form", "parameters"), [("nyu-mll", 16_580_403), ("chen", 4_331_103)])
def test_parameters_beside_the_embedding(form: str, parameters: int) -> None:
    model = ESIM(torch.zeros(2, 300), form=form, train_embedding=False)
    trained = [weight.numel() for weight in model.parameters() if weight.requires_grad]
    assert sum(trained) == parameters


@forms
def test_logits_have_one_row_a_pair(form: str) -> None:
    assert small(form)(*pairs()).shape == (4, 3)


@forms
def test_more_padding_changes_nothing(form: str) -> None:
    model = small(form).double().eval()
    premise, hypothesis = pairs()
    longer = model(pad(premise, (0, 6)), pad(hypothesis, (0, 9)))
    torch.testing.assert_close(longer, model(premise, hypothesis), rtol=0, atol=1e-12)


@forms
def test_a_pair_does_not_see_the_other_pairs_of_its_batch(form: str) -> None:
    model = small(form).double().eval()
    premise, hypothesis = pairs()
    alone = model(premise[1:2, :2], hypothesis[1:2])
    torch.testing.assert_close(alone, model(premise, hypothesis)[1:2], rtol=0, atol=1e-12)


@forms
def test_an_empty_sentence_gives_finite_gradients(form: str) -> None:
    model = small(form)
    model(*pairs()).sum().backward()
    gradients = [weight.grad for weight in model.parameters() if weight.requires_grad]
    assert all(gradient is not None and gradient.isfinite().all() for gradient in gradients)


@pytest.mark.parametrize(("form", "lowest_is_zero"), [("nyu-mll", True), ("chen", False)])
def test_nyu_mll_takes_the_zero_of_the_padding_into_its_maximum(
    form: str, lowest_is_zero: bool
) -> None:
    model, seen = small(form), []
    model.classify.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))
    model(*pairs())
    _, premise_max, _, hypothesis_max = seen[0].chunk(4, dim=1)
    assert (min(premise_max.min(), hypothesis_max.min()).item() == 0) is lowest_is_zero


def test_premise_and_hypothesis_have_lstms_of_their_own() -> None:
    assert len(small("nyu-mll").encoders) == len(small("nyu-mll").composers) == 2


def test_the_chen_form_shares_its_lstms_and_saves_them_once() -> None:
    state = small("chen").state_dict()
    assert len({value.data_ptr() for value in state.values()}) == len(state)
    assert len(small("chen").encoders) == len(small("chen").composers) == 1


@pytest.mark.parametrize(
    ("form", "asked", "trained"),
    [
        ("nyu-mll", None, False),
        ("nyu-mll", True, True),
        ("chen", None, True),
        ("chen", False, False),
    ],
)
def test_the_embedding_is_trained_or_frozen(form: str, asked: bool | None, trained: bool) -> None:
    assert small(form, train_embedding=asked).embedding.weight.requires_grad is trained


def test_training_leaves_the_callers_embedding_alone() -> None:
    embedding = torch.randn(50, 12)
    before = embedding.clone()
    model = ESIM(embedding, form="chen", hidden=8)
    model(*pairs()).sum().backward()
    torch.optim.SGD(model.parameters(), lr=1.0).step()
    assert torch.equal(embedding, before)
    assert not torch.equal(model.embedding.weight, before)


def test_nyu_mll_starts_its_dense_layers_normal_with_a_tenth() -> None:
    dense = ESIM(torch.zeros(2, 300)).classify[1]
    assert isinstance(dense, torch.nn.Linear)
    assert dense.weight.std().item() == pytest.approx(0.1, rel=0.01)
    assert dense.bias.std().item() == pytest.approx(0.1, rel=0.15)


def test_chen_starts_its_dense_layers_normal_with_a_hundredth() -> None:
    dense = ESIM(torch.zeros(2, 300), form="chen").classify[1]
    assert isinstance(dense, torch.nn.Linear)
    assert dense.weight.std().item() == pytest.approx(0.01, rel=0.01)
    assert not dense.bias.any()


@forms
def test_one_update_lowers_the_loss(
    form: str, one_update: Callable[..., tuple[float, float]]
) -> None:
    model = ESIM(torch.randn(50, 12), form=form, hidden=8, dropout=0.0)
    labels = torch.tensor([0, 0, 2, 0])
    before, after = one_update(model, *pairs(), labels=labels, rate=0.1)
    assert after < before - 0.01


@forms
def test_it_runs_under_autocast(form: str) -> None:
    model = small(form)
    with torch.autocast("cpu", torch.bfloat16):
        logits = model(*pairs())
    assert logits.isfinite().all()


def test_an_unknown_form_is_refused() -> None:
    with pytest.raises(InputError, match="form must be one of nyu-mll, chen, got 'kim'"):
        small("kim")


@pytest.mark.parametrize("embedding", [torch.zeros(5), torch.zeros(5, 3, dtype=torch.long)])
def test_an_embedding_that_is_no_matrix_is_refused(embedding: Tensor) -> None:
    with pytest.raises(InputError, match="embedding must be a matrix of real numbers, got"):
        ESIM(embedding)
