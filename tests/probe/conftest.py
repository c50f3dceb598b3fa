"""A small probe of the digits, and its laboratory."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
import torch

from rebatch.probe import Design, design, laboratory
from rebatch.probe._branch import Lab
from rebatch.recipes import find, override


@pytest.fixture(autouse=True)
def _quiet() -> None:
    torch.set_num_threads(1)


@pytest.fixture
def small() -> Callable[..., Design]:
    """Make a design of three sizes after an epoch, with momentum."""

    def make(*settings: str, **chosen: Any) -> Design:
        recipe = override(
            find("digits"),
            ["cyclical_batch_size=32", "cyclical_rate=0.05", "momentum=0.9", *settings],
        )
        return design(recipe, **{"warm_up": 1, "largest": 128, "repeats": 2, **chosen})

    return make


@pytest.fixture
def lab() -> Iterator[Callable[..., Lab]]:
    """Open the laboratory of a design."""
    with ExitStack() as stack:
        yield lambda made, **more: stack.enter_context(laboratory(made, device="cpu", **more))
