import math
from contextlib import nullcontext

import pytest
import torch
from torch import nn

from rebatch.engine.classes import judge


class Fixed(nn.Module):
    """A model that always answers with the same logits."""

    def __init__(self, *logits: list[float]) -> None:
        super().__init__()
        self.logits = torch.tensor(logits)


def figures(*models: Fixed, labels: list[int]) -> dict[str, float]:
    targets = torch.tensor(labels)

    def predict(model):
        return zip(model.logits.split(2), targets.split(2), strict=True)

    return judge(models, {"test": predict}, nullcontext())


def logits(*chances: float) -> list[float]:
    return [math.log(chance) for chance in chances]


def test_one_model_is_judged_by_its_loss_and_accuracy():
    model = Fixed(logits(0.5, 0.5), logits(0.2, 0.8), logits(0.9, 0.1))
    found = figures(model, labels=[0, 1, 1])
    assert found["test_accuracy"] == pytest.approx(200 / 3)
    assert found["test_loss"] == pytest.approx(-(math.log(0.5) + math.log(0.8) + math.log(0.1)) / 3)


def test_several_models_are_judged_by_the_mean_of_their_probabilities():
    sure, unsure = Fixed(logits(0.9, 0.1)), Fixed(logits(0.3, 0.7))
    found = figures(sure, unsure, labels=[0])
    assert found == {"test_loss": pytest.approx(-math.log(0.6)), "test_accuracy": 100.0}
    assert figures(unsure, labels=[0])["test_accuracy"] == 0.0


def test_a_model_may_give_way_to_the_next_in_the_same_memory():
    def members():
        model = Fixed(logits(0.9, 0.1))
        yield model
        model.logits = torch.tensor([logits(0.3, 0.7)])
        yield model

    found = judge(members(), {"test": lambda m: [(m.logits, torch.tensor([0]))]}, nullcontext())
    assert found["test_loss"] == pytest.approx(-math.log(0.6))


def test_a_probability_of_zero_costs_a_finite_loss():
    assert figures(Fixed([0.0, 1000.0]), labels=[0])["test_loss"] == pytest.approx(87.5, abs=0.1)
