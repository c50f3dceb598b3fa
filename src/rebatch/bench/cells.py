"""What is measured: models, batch sizes, and how many times faster than a plain loop is asked."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from rebatch.errors import InputError
from rebatch.recipes import Recipe, find

TEXT, PICTURES = (10, 20, 40, 80, 640), (128, 256, 512, 1024)
GPU: dict[str, tuple[int, ...]] = {
    "L1": TEXT,
    "L2": TEXT,
    "C1": PICTURES,
    "C2": PICTURES,
    "C3": PICTURES,
    "E1": (32, 64, 128, 256),
    "I1": (64, 128, 256),
}
"""The batch sizes of each model on a GPU."""
CPU: dict[str, tuple[int, ...]] = {
    "demo": (16, 128),
    "L1-small": (10, 20),
    "C1": (128,),
    "C3": (128,),
}
"""The cells that a CPU finishes in seconds."""
ASKED: dict[str, dict[str, dict[int, float]]] = {
    "gpu": {
        "L1": {10: 3.0, 20: 3.0, 40: 2.2, 80: 2.2},
        "L2": {10: 2.0, 20: 2.0, 40: 2.0, 80: 2.0},
        "C1": {128: 5.0},
        "C2": {128: 4.0, 1024: 2.5},
        "C3": {128: 5.0, 1024: 4.0},
        "I1": {64: 1.0, 128: 1.0, 256: 1.0},
    },
    "cpu": {model: dict.fromkeys(sizes, 1.0) for model, sizes in CPU.items()},
}
"""The ratios that are asked for, of an H200 and of any CPU; of I1 against a loop in bf16."""
RECIPES = {
    "L1": "l1-ptb",
    "L2": "l2-ptb",
    "L1-small": "l1-ptb",
    "C1": "c1-cifar10",
    "C2": "c2-cifar10",
    "C3": "c3-cifar10",
    "E1": "e1-snli",
    "I1": "i1-imagenet",
    "demo": "digits",
}
ENDLESS = 10_000
"""Epochs that no turn reaches the end of."""


@dataclass(frozen=True)
class Cell:
    """One model at one batch size."""

    model: str
    batch_size: int
    asked: float | None = None

    @property
    def name(self) -> str:
        """What the cell is called while it is measured."""
        return f"{self.model} at {self.batch_size}"

    @property
    def recipe(self) -> Recipe:
        """The recipe of the model, at this batch size throughout.

        Batch norm takes the whole batch as its group, as in the plain loop.
        """
        recipe = find(RECIPES[self.model])
        if self.model == "L1-small":
            recipe = replace(recipe, hidden=200)
        return replace(recipe, baseline_batch_size=self.batch_size, epochs=ENDLESS)


def cells(kind: str, only: Sequence[str] = (), sizes: Sequence[int] = ()) -> list[Cell]:
    """Return the cells of a ``kind`` of device: all, or those of some models and sizes.

    A size goes to the models that have it by themselves, and to all where none of them has.

    >>> [cell.name for cell in cells("gpu", ["L1", "C3"], [10, 30, 128])]
    ['L1 at 10', 'L1 at 30', 'C3 at 30', 'C3 at 128']
    """
    for model in only:
        check_model("only", model)
    known = {"gpu": GPU, "cpu": CPU}[kind]
    chosen = {model: known.get(model) or {**CPU, **GPU}[model] for model in only or known}
    usual = {size for own in chosen.values() for size in own}
    return [
        Cell(model, size, ASKED[kind].get(model, {}).get(size))
        for model, own in chosen.items()
        for size in sizes or own
        if size in own or size not in usual
    ]


def check_model(name: str, model: str) -> None:
    """Refuse a model that nothing is known of; ``name`` is what it was given as."""
    if model not in RECIPES:
        raise InputError(f"{name} must be one of {', '.join(RECIPES)}, got {model!r}")
