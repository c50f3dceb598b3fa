"""Small problems of each kind, and runs of them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import rebatch
from rebatch.engine.images import ImageTask
from rebatch.engine.job import Job
from rebatch.engine.language import LanguageTask
from rebatch.engine.learner import Learner
from rebatch.models import GroupedBatchNorm2d, LanguageModel
from rebatch.records import RunFolder

CPU = torch.device("cpu")


@pytest.fixture(autouse=True)
def _quiet() -> None:
    torch.set_num_threads(1)
    torch.manual_seed(0)


@pytest.fixture
def pictures() -> tuple[Tensor, Tensor]:
    """Forty images of two classes, dark and bright."""
    generator = torch.Generator().manual_seed(1)
    labels = torch.arange(40) % 2
    noise = torch.randint(0, 128, (40, 3, 8, 8), generator=generator)
    return (noise + 100 * labels[:, None, None, None]).to(torch.uint8), labels


@pytest.fixture
def picture_job(tmp_path: Path, pictures: tuple[Tensor, Tensor]) -> Callable[..., Job]:
    """Make a job of a small convolutional network with batch norm over groups."""

    def make(
        code: str = "CBS-1-2",
        *,
        epochs: int = 4,
        base: int = 8,
        out: str = "run",
        task: dict[str, Any] | None = None,
        learner: dict[str, Any] | None = None,
        model: nn.Module | None = None,
        **job: Any,
    ) -> Job:
        plan = rebatch.plan(rebatch.parse(code, base), epochs=epochs, examples=40)
        torch.manual_seed(0)
        made = ImageTask(pictures, {"test": pictures}, plan, seed=0, device=CPU, **(task or {}))
        model = model or picture_network()
        settings = {"group": 4, **(learner or {})}
        optimizer = torch.optim.SGD(model.parameters(), lr=1.0, momentum=0.9)
        return Job(
            Learner(model, optimizer, made, CPU, **settings),
            plan,
            job.pop("rate", lambda position, history: 0.05),
            RunFolder(tmp_path / out),
            **{"log_every": 3, "momentum": 0.9, **job},
        )

    return make


def picture_network() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(3, 4, 3),
        GroupedBatchNorm2d(4, 4),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(4 * 36, 2),
    )


@pytest.fixture
def text_job(tmp_path: Path) -> Callable[..., Job]:
    """Make a job of a small language model with dropout on a text that repeats itself."""

    def make(
        code: str = "CBS-1-2",
        *,
        epochs: int = 4,
        base: int = 4,
        out: str = "run",
        dropout: float = 0.3,
        learner: dict[str, Any] | None = None,
        **job: Any,
    ) -> Job:
        generator = torch.Generator().manual_seed(2)
        tokens = torch.arange(400) % 7
        tokens[torch.randint(0, 400, (400,), generator=generator)] = (
            0  # so that there is something to learn
        )
        plan = rebatch.plan(rebatch.parse(code, base), epochs=epochs, tokens=400, bptt=9)
        held_out = {"valid": tokens[:150], "test": tokens[150:333]}
        task = LanguageTask(tokens, held_out, plan, device=CPU, bptt=9)
        torch.manual_seed(0)
        model = LanguageModel(7, 6, dropout=dropout)
        optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
        settings = {"clip": 0.25, **(learner or {})}
        return Job(
            Learner(model, optimizer, task, CPU, **settings),
            plan,
            job.pop("rate", lambda position, history: 5.0),
            RunFolder(tmp_path / out),
            **{"log_every": 4, **job},
        )

    return make
