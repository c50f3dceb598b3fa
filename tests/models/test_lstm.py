import pytest
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from rebatch.errors import InputError
from rebatch.models import LanguageModel


@pytest.mark.parametrize(("hidden", "parameters"), [(650, 19_780_400), (1500, 66_034_000)])
def test_parameters_on_penn_treebank(hidden: int, parameters: int) -> None:
    with torch.device("meta"):
        model = LanguageModel(10_000, hidden)
    assert sum(weight.numel() for weight in model.parameters()) == parameters


def test_the_zero_state_has_one_column_a_sequence() -> None:
    hidden, cell = LanguageModel(30, 8, layers=3).initial_state(5)
    assert hidden.shape == cell.shape == (3, 5, 8)
    assert not hidden.any()
    assert not cell.any()


def test_carrying_the_state_equals_one_long_sequence() -> None:
    model = LanguageModel(30, 8).double().eval()
    tokens = torch.randint(30, (12, 4))
    whole, _ = model(tokens, model.initial_state(4))
    state, parts = model.initial_state(4), []
    for part in tokens.split(5):
        logits, state = model(part, state)
        parts.append(logits)
    torch.testing.assert_close(torch.cat(parts), whole, rtol=0, atol=1e-12)


def test_dropout_acts_in_training_alone() -> None:
    model, tokens = LanguageModel(30, 8), torch.randint(30, (5, 4))
    state = model.initial_state(4)
    assert not torch.equal(model(tokens, state)[0], model(tokens, state)[0])
    model.eval()
    assert torch.equal(model(tokens, state)[0], model(tokens, state)[0])


def test_dropout_between_the_layers_is_the_lstms_own() -> None:
    assert LanguageModel(30, 8, dropout=0.65).lstm.dropout == 0.65


def test_one_layer_has_no_dropout_between() -> None:
    assert LanguageModel(30, 8, layers=1).lstm.dropout == 0


def bounds(weight: Tensor) -> tuple[float, float]:
    return weight.min().item(), weight.max().item()


def test_embedding_and_decoder_start_in_a_tenth() -> None:
    model = LanguageModel(1000, 100)
    assert bounds(model.embedding.weight) == pytest.approx((-0.1, 0.1), rel=1e-3)
    assert bounds(model.decoder.weight) == pytest.approx((-0.1, 0.1), rel=1e-3)
    assert bounds(model.decoder.bias) == (0, 0)


def test_the_uniform_switch_covers_every_parameter() -> None:
    for parameter in LanguageModel(1000, 100, uniform=0.04).parameters():
        assert bounds(parameter) == pytest.approx((-0.04, 0.04), rel=0.05)


def test_one_update_lowers_the_loss() -> None:
    model = LanguageModel(30, 8, dropout=0.0)
    tokens = torch.randint(30, (11, 4))

    def loss() -> Tensor:
        logits, _ = model(tokens[:-1], model.initial_state(4))
        return cross_entropy(logits.flatten(0, 1), tokens[1:].flatten())

    before = loss()
    before.backward()
    torch.optim.SGD(model.parameters(), lr=1.0).step()
    assert loss().item() < before.item() - 0.01


def test_the_state_keeps_its_precision_under_autocast() -> None:
    model = LanguageModel(30, 8)
    with torch.autocast("cpu", torch.bfloat16):
        _, state = model(torch.randint(30, (5, 4)), model.initial_state(4))
        logits, state = model(torch.randint(30, (5, 4)), state)
    assert [part.dtype for part in state] == [torch.float32, torch.float32]
    assert logits.dtype == torch.bfloat16


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"vocabulary": 0}, "vocabulary must be a whole number of at least 1, got 0"),
        ({"hidden": 6.5}, "hidden must be a whole number of at least 1, got 6.5"),
        ({"layers": 0}, "layers must be a whole number of at least 1, got 0"),
        ({"dropout": 1.5}, "dropout must be at least 0 and below 1, got 1.5"),
        ({"uniform": 0}, "uniform must be a finite number above 0, got 0"),
    ],
)
def test_bad_sizes_are_refused(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        LanguageModel(**{"vocabulary": 30, "hidden": 8, **arguments})  # type: ignore[arg-type]


def test_a_state_of_no_columns_is_refused() -> None:
    with pytest.raises(InputError, match="batch_size must be a whole number of at least 1, got 0"):
        LanguageModel(30, 8).initial_state(0)
