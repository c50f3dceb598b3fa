"""A recipe: everything that decides a run, as one frozen value.

A variant is a `dataclasses.replace`; the command line changes a field with ``--set field=value``.
"""

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from difflib import get_close_matches
from typing import Any, get_type_hints

from rebatch._starts import STARTS, STARTS_OF_TEXT, parse_start
from rebatch.errors import InputError, hold_plain, one_of, positive_int, positive_number
from rebatch.rates import Rate
from rebatch.recipes._fields import converted, read

DATA = {
    "L": ("ptb", "wikitext-2"),
    "C": ("cifar10", "cifar100"),
    "I": ("imagenet",),
    "E": ("snli", "multinli", "sick"),
    "d": ("digits",),
}
"""The data sets of each kind of model, by its first letter."""
CHOICES = {
    "model": ("L1", "L2", "L1'", "L2'", "C1", "C2", "C3", "C4", "I1", "E1", "demo"),
    "optimizer": ("sgd", "adam"),
    "shortcut": ("A", "B"),
    "form": ("nyu-mll", "chen"),
    "loss": ("cross-entropy", "squared-error"),
    "augment": ("none", "zero", "reflect"),
    "snapshot_at": ("cycle-end", "top-step-end", "step-end"),
    "precision": ("auto", "fp32", "tf32", "bf16", "fp64"),
}
IMAGES = ("C", "demo")
READ_BY: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("name", "about", "schedules"), ()),  # what is said of a recipe
    "bptt": ("L",),
    "dropout": ("L", "E"),
    "hidden": ("L", "E", "demo"),
    "shortcut": ("C3",),
    "form": ("E",),
    "train_split": ("E",),
    "held_out": ("E",),
    "initialization": ("L", "C", "I", "demo"),
    "norm_batch_size": ("C1", "C2", "C3", "I"),
    "drop_last": ("C", "I", "E", "demo"),
    "loss": IMAGES,
    "augment": IMAGES,
    "holdout": IMAGES,
    "adversarial_share": IMAGES,
    "adversarial_epsilon": IMAGES,
    "adversarial_window": IMAGES,
}
"""How the models are called that a field matters to, where it does not to all."""


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """How one model is trained on one data set; times are in epochs."""

    name: str
    about: str
    model: str
    """The paper's code: C1-C4, I1, L1, L2, L1', L2', E1; or demo."""
    data: str
    schedules: tuple[str, ...]
    """The schedules that the paper reports for it."""
    epochs: int

    baseline_batch_size: int
    baseline_rate: Rate
    cyclical_batch_size: int
    """The base of every cycle."""
    cyclical_rate: Rate

    optimizer: str = "sgd"
    momentum: float = 0.0
    nesterov: bool = False
    weight_decay: float = 0.0
    clip: float | None = None
    drop_last: bool = False
    bptt: int = 35
    dropout: float = 0.0
    hidden: int = 0
    """Units of a layer, where the model leaves a choice."""
    shortcut: str = "B"
    """C3 only: shortcuts by 1x1 convolution (B) or by subsampling (A)."""
    form: str = "nyu-mll"
    """E1 only: which ESIM, nyu-mll or chen."""
    loss: str = "cross-entropy"
    """Or squared-error, of the softmax (C4 only)."""
    augment: str = "none"
    """Crop and flip with zero or reflect padding, or none."""
    initialization: str = "default"
    """How the weights start: see docs/recipes.md for what there is, for images and for text."""
    norm_batch_size: int | None = None
    """Samples that batch norm takes its statistics over; none: the base size; 0: the batch."""
    adversarial_share: float = 0.0
    adversarial_epsilon: float = 0.005
    adversarial_window: float = 0.5
    snapshot_at: str = "cycle-end"
    snapshot_epochs: tuple[int, ...] = ()
    """Numbers of finished epochs to take snapshots at instead: for a baseline."""
    holdout: int = 0
    """Training samples set apart for validation; tuning looks at these, never at the test set."""
    train_split: str = "train"
    held_out: tuple[tuple[str, str], ...] = ()
    """E1 only: (name of the metric, split of the data set); the first picks the best epoch."""
    precision: str = "auto"
    """fp32, tf32, bf16, fp64; auto is bf16 on a GPU and fp32 on a CPU."""
    micro_batch_size: int | None = None
    log_every: int = 200

    def __post_init__(self) -> None:
        hold_plain(self)
        for name in ("epochs", "baseline_batch_size", "cyclical_batch_size", "bptt", "log_every"):
            positive_int(name, getattr(self, name))
        for name in ("hidden", "holdout", "norm_batch_size"):
            positive_int(name, getattr(self, name) or 0, at_least=0)
        for name in ("momentum", "weight_decay", "dropout"):
            positive_number(name, getattr(self, name), zero=True)
        positive_number("adversarial_epsilon", self.adversarial_epsilon)
        if self.clip is not None:
            positive_number("clip", self.clip)
        if self.micro_batch_size is not None:
            positive_int("micro_batch_size", self.micro_batch_size)
        for name, choices in CHOICES.items():
            one_of(name, getattr(self, name), choices)
        parse_start(self.initialization, STARTS_OF_TEXT if self.model[0] == "L" else STARTS)
        self._check_data()
        self._check_momentum()

    def _check_data(self) -> None:
        one_of("data", self.data, DATA[self.model[0]])
        if self.model.startswith("E") and not self.held_out:
            raise InputError("held_out must name at least one split, got none")
        for name in ("adversarial_share", "adversarial_window"):
            if not 0 <= getattr(self, name) <= 1:
                raise InputError(f"{name} must be between 0 and 1, got {getattr(self, name)}")

    def _check_momentum(self) -> None:
        if self.momentum >= 1:
            raise InputError(f"momentum must be below 1, got {self.momentum}")
        if self.nesterov and not self.momentum:
            raise InputError("nesterov must go with a momentum above 0, got momentum 0")
        if self.optimizer == "adam" and self.momentum:
            raise InputError(f"momentum must be 0 with adam, got {self.momentum}")

    @property
    def has_validation(self) -> bool:
        """Whether something else than the test set picks the best epoch."""
        if self.model.startswith("E"):
            return self.held_out[:1] != () and not self.held_out[0][0].startswith("test")
        return self.model.startswith(("L", "I")) or self.holdout > 0

    def to_dict(self) -> dict[str, Any]:
        """Return the recipe as JSON-ready values; rates become their text."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {
            name: repr(value) if isinstance(value, Rate) else value
            for name, value in values.items()
        }

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "Recipe":
        """Read what `to_dict` gave."""
        try:
            return cls(
                **{name: converted(name, _kind(name), value) for name, value in values.items()}
            )
        except TypeError as error:
            raise InputError(f"recipe must have the fields of a recipe, got {error}") from None


def override(recipe: Recipe, settings: Iterable[str]) -> Recipe:
    """Return the recipe with fields changed by ``field=value`` texts, checked by name and type.

    >>> from rebatch.recipes import find
    >>> override(find("c1-cifar10"), ["epochs=3", "weight_decay=1e-4"]).epochs
    3
    """
    changes: dict[str, Any] = {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals:
            raise InputError(f"--set must be field=value, got {setting!r}")
        changes[name.strip()] = read(name.strip(), _kind(name.strip()), text.strip())
    changed = replace(recipe, **changes)
    for name in changes:
        if not changed.model.startswith(READ_BY.get(name, ("",))):
            raise InputError(f"field must be one that {changed.model} looks at, got {name!r}")
    return changed


def _kind(name: str) -> Any:
    kinds = get_type_hints(Recipe)
    if name not in kinds:
        near = get_close_matches(name, kinds, n=1, cutoff=0.4)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise InputError(f"field must be one of the recipe's, got {name!r}{hint}")
    return kinds[name]
