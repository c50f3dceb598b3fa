import pytest
import torch
from torch import nn

import rebatch
from rebatch.engine.curvature import measure_curvature, top_eigenvalue
from rebatch.engine.images import ImageTask
from rebatch.engine.language import LanguageTask
from rebatch.engine.learner import Learner
from rebatch.errors import InputError
from rebatch.models import LanguageModel

CPU = torch.device("cpu")
LONG = {"iterations": 500, "tolerance": 1e-10}


def bowl(*bends: float):
    """A model of one vector, and a loss whose Hessian has these eigenvalues."""
    model = nn.Linear(len(bends), 1, bias=False)
    turn = torch.linalg.qr(torch.randn(len(bends), len(bends)))[0]
    matrix = turn @ torch.diag(torch.tensor(bends)) @ turn.T
    return model, lambda: (model.weight @ matrix @ model.weight.T).sum() / 2


def network() -> tuple[nn.Module, object]:
    torch.manual_seed(3)
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Dropout(0.5), nn.Linear(4, 2)).double()
    inputs, labels = torch.randn(9, 3).double(), torch.arange(9) % 2
    return model, lambda: nn.functional.cross_entropy(model(inputs), labels)


def dense(model: nn.Module, loss) -> torch.Tensor:
    """All eigenvalues of the Hessian, worked out row by row in evaluation mode."""
    names, values = zip(*model.named_parameters(), strict=True)
    sizes = [value.numel() for value in values]

    def at(flat: torch.Tensor) -> torch.Tensor:
        parts = zip(flat.split(sizes), values, strict=True)
        own = {name: part.view_as(v) for name, (part, v) in zip(names, parts, strict=True)}
        return torch.func.functional_call(
            _Closure(model, loss), {f"model.{n}": own[n] for n in own}
        )

    flat = torch.cat([value.detach().flatten() for value in values])
    model.eval()
    return torch.linalg.eigvalsh(torch.autograd.functional.hessian(at, flat))


class _Closure(nn.Module):
    def __init__(self, model: nn.Module, loss) -> None:
        super().__init__()
        self.model, self.loss = model, loss

    def forward(self, *_: object) -> torch.Tensor:
        return self.loss()


def test_the_largest_bend_of_a_bowl_is_found():
    found = top_eigenvalue(*bowl(10.0, 4.0, 1.0, 0.0), **LONG)
    assert found.eigenvalue == pytest.approx(10.0, abs=1e-4)


def test_ten_iterations_come_within_the_tolerance():
    found = top_eigenvalue(*bowl(10.0, 4.0, 1.0, 0.0))
    assert found.eigenvalue == pytest.approx(10.0, rel=0.02)
    assert found.products <= 10
    assert found.seconds > 0


def test_where_the_strongest_bend_goes_down_the_largest_upward_one_is_given():
    found = top_eigenvalue(*bowl(-10.0, 4.0, 1.0), **LONG)
    assert found.eigenvalue == pytest.approx(4.0, abs=1e-3)


def test_a_hill_has_its_flattest_bend_as_the_largest():
    found = top_eigenvalue(*bowl(-10.0, -4.0, -3.0), **LONG)
    assert found.eigenvalue == pytest.approx(-3.0, abs=1e-3)


def test_a_plane_does_not_bend():
    model = nn.Linear(3, 1)
    assert top_eigenvalue(model, lambda: model.weight.sum())[:2] == (0.0, 1)


def test_a_network_has_the_eigenvalue_of_its_dense_hessian():
    model, loss = network()
    expected = dense(model, loss)[-1].item()
    assert top_eigenvalue(model, loss, **LONG).eigenvalue == pytest.approx(expected, rel=1e-6)


def test_frozen_parameters_take_no_part():
    model = nn.ParameterDict({"a": torch.ones(2), "b": torch.ones(2)})
    model["a"].requires_grad_(False)
    found = top_eigenvalue(model, lambda: (9 * model["a"] ** 2 + 2 * model["b"] ** 2).sum())
    assert found.eigenvalue == pytest.approx(4.0)


def test_nothing_but_the_answer_is_left_behind():
    model, loss = network()
    model.train()
    model[1].eval()
    loss().backward()
    before = [parameter.grad.clone() for parameter in model.parameters()]
    state = torch.get_rng_state()
    first = top_eigenvalue(model, loss, seed=4)
    assert [module.training for module in model] == [True, False, True, True]
    assert torch.equal(torch.get_rng_state(), state)
    for parameter, gradient in zip(model.parameters(), before, strict=True):
        assert torch.equal(parameter.grad, gradient)
    assert top_eigenvalue(model, loss, seed=4).eigenvalue == first.eigenvalue


def test_an_lstm_has_the_eigenvalue_of_its_dense_hessian():
    torch.manual_seed(0)
    model = LanguageModel(4, 2, layers=1).double()
    tokens, state = torch.tensor([[0, 1], [2, 3], [1, 1]]), model.initial_state(2)

    def loss() -> torch.Tensor:
        return nn.functional.cross_entropy(
            model(tokens[:2], state)[0].flatten(0, 1), tokens[1:].flatten()
        )

    expected = dense(model, loss)[-1].item()
    assert top_eigenvalue(model, loss, **LONG).eigenvalue == pytest.approx(expected, rel=1e-3)


def picture_learner(images: torch.Tensor, labels: torch.Tensor) -> Learner:
    plan = rebatch.plan(rebatch.constant(4), epochs=1, examples=len(labels))
    task = ImageTask((images, labels), {"test": (images, labels)}, plan, seed=0, device=CPU)
    model = nn.Sequential(nn.Flatten(), nn.Linear(images[0].numel(), 2))
    return Learner(model, torch.optim.SGD(model.parameters(), lr=1.0), task, CPU)


def test_a_learner_is_measured_on_samples_of_its_task(pictures):
    learner = picture_learner(*pictures)
    images, labels = pictures
    found = measure_curvature(learner, samples=1000, **LONG)
    inputs = images / 255
    expected = top_eigenvalue(
        learner.model, lambda: nn.functional.cross_entropy(learner.model(inputs), labels), **LONG
    )
    assert found.eigenvalue == pytest.approx(expected.eigenvalue, rel=1e-4)


def test_the_seed_picks_the_samples(pictures):
    learner = picture_learner(*pictures)
    one, again, other = (measure_curvature(learner, samples=8, seed=s) for s in (1, 1, 2))
    assert one.eigenvalue == again.eigenvalue != other.eigenvalue


@pytest.mark.parametrize("wrong", [{"iterations": 0}, {"tolerance": -1.0}])
def test_wrong_settings_are_refused(wrong):
    with pytest.raises(InputError, match=next(iter(wrong))):
        top_eigenvalue(*bowl(1.0, 2.0), **wrong)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_an_lstm_on_a_gpu_has_the_eigenvalue_it_has_on_the_cpu():
    tokens = torch.randint(0, 9, (600,))
    plan = rebatch.plan(rebatch.constant(4), epochs=1, tokens=600, bptt=5)
    torch.manual_seed(0)
    model, found = LanguageModel(9, 8), []
    for device in (CPU, torch.device("cuda")):
        task = LanguageTask(tokens, {"valid": tokens}, plan, device=device, bptt=5)
        optimizer = torch.optim.SGD(model.to(device).parameters(), lr=1.0)
        found.append(measure_curvature(Learner(model, optimizer, task, device)).eigenvalue)
    assert found[1] == pytest.approx(found[0], rel=1e-3)
    assert torch.backends.cudnn.enabled
