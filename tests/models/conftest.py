from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(0)


@pytest.fixture
def one_update() -> Callable[..., tuple[float, float]]:
    """Give the training loss of a fixed batch before and after one update of plain SGD."""

    def losses(
        model: nn.Module, *inputs: Tensor, labels: Tensor, rate: float
    ) -> tuple[float, float]:
        optimizer = torch.optim.SGD(model.parameters(), lr=rate)
        before = cross_entropy(model(*inputs), labels)
        before.backward()
        optimizer.step()
        return before.item(), cross_entropy(model(*inputs), labels).item()

    return losses
