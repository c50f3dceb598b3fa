"""An update reads nothing from its device, so that it can be captured; shown where nothing is."""

from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

import rebatch
from rebatch.engine.adversarial import Adversarial
from rebatch.engine.images import ImageTask
from rebatch.engine.language import LanguageTask
from rebatch.engine.learner import Learner
from rebatch.engine.pairs import PairTask
from rebatch.engine.state import Progress
from rebatch.engine.task import Batch, Memory
from rebatch.models import ESIM, CifarResNet, LanguageModel

META = torch.device("meta")
Made = tuple[Learner, Batch, Memory]


class Elsewhere(TorchDispatchMode):
    """Note the operations that take or give a tensor of another device."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        leaves = tree_leaves((args, kwargs, result))
        if any(isinstance(leaf, Tensor) and leaf.device != META for leaf in leaves):
            self.found.append(str(func))
        return result


def learner(task: Any, model: torch.nn.Module, **settings: Any) -> Learner:
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimizer = torch.optim.SGD(trained, lr=1.0, momentum=0.9, nesterov=True, weight_decay=5e-4)
    return Learner(model.train(), optimizer, task, META, **settings)


def pictures() -> Made:
    plan = rebatch.plan(rebatch.constant(16), epochs=2, examples=16)
    split = torch.zeros(16, 3, 8, 8, dtype=torch.uint8), torch.zeros(16, dtype=torch.int64)
    attack = Adversarial(share=0.25)
    task = ImageTask(split, {"test": split}, plan, seed=0, device=META, adversarial=attack)
    model = CifarResNet(10, depth=8, norm_batch_size=8).to(META)
    images = torch.zeros(16, 3, 8, 8, dtype=torch.uint8, device=META)
    labels = torch.zeros(16, dtype=torch.int64, device=META)
    return learner(task, model, group=8), Batch((images,), labels, attacked=True), None


def one_group() -> Made:
    made, batch, memory = pictures()
    made.group = 16
    return made, batch, memory


def text() -> Made:
    plan = rebatch.plan(rebatch.constant(4), epochs=1, tokens=60, bptt=5)
    tokens = torch.zeros(60, dtype=torch.int64)
    task = LanguageTask(tokens, {"valid": tokens}, plan, device=META, bptt=5)
    model = LanguageModel(9, 4).to(META)
    places = torch.zeros(5, 4, dtype=torch.int64, device=META)
    return learner(task, model, clip=0.25), Batch((places,), places), model.initial_state(4)


def pairs() -> Made:
    plan = rebatch.plan(rebatch.constant(4), epochs=1, examples=8)
    words, labels = torch.ones(8, 3, dtype=torch.int64), torch.zeros(8, dtype=torch.int64)
    split = words, words, labels
    task = PairTask(split, {"validation": split}, plan, seed=0, device=META)
    model = ESIM(torch.zeros(9, 4), form="chen", hidden=3).to(META)
    there = words[:4].to(META)
    return learner(task, model, clip=10.0), Batch((there, there), labels[:4].to(META)), None


@pytest.mark.parametrize("measure", [False, True])
@pytest.mark.parametrize("make", [pictures, one_group, text, pairs])
def test_an_update_and_its_sums_stay_on_the_device(make, measure):
    made, batch, memory = make()
    progress = Progress()
    for mode in (Elsewhere(), Elsewhere()):  # the first brings over what is remembered
        with mode:
            outcome = made.update(batch, memory, 0.1, measure=measure)
            progress.add(outcome, batch.targets.numel(), made.clip)
    assert mode.found == []
    assert (outcome.noise is not None) == measure


def test_a_look_at_the_loss_is_noticed():
    made, batch, memory = text()
    outcome = made.update(batch, memory, 0.1, measure=False)
    with pytest.raises(RuntimeError, match="meta"):
        float(outcome.loss)
    with Elsewhere() as mode:
        outcome.loss + torch.tensor(1.0)
    assert "aten.add.Tensor" in mode.found
