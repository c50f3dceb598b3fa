"""What a probe does: where the branches leave, which there are, and how much they train."""

import math
from dataclasses import dataclass, replace
from typing import Any

from rebatch import Plan, constant, join
from rebatch.errors import InputError, hold_plain, one_of, positive_int
from rebatch.recipes import Case, Recipe

RULES = ("linear", "sqrt", "constant")
SHARE, DOUBLINGS, FEWEST = 10, 5, 8
"""Defaults: warm up for a tenth of the budget and double the base five times, unless a branch had
fewer than eight updates then: four in the half that is looked at."""


@dataclass(frozen=True, kw_only=True)
class Design:
    """Branches that leave one point of training, alike in all but the batch size."""

    recipe: Recipe
    warm_up: int
    """Epochs at the base before the branches leave."""
    length: int = 1
    """Epochs of a branch."""
    largest: int
    repeats: int = 3
    """Branches of each size, each with its own order of the samples."""
    rule: str = "sqrt"
    """How the learning rate follows the batch size.  The best rate of SGD grows with a batch size
    below the critical one and is constant above (McCandlish et al., 2018): the root lies between,
    and does not run into the limit of stable rates as linear growth does."""
    seed: int = 0

    def __post_init__(self) -> None:
        hold_plain(self)
        for name in ("warm_up", "length"):
            positive_int(name.replace("_", "-"), getattr(self, name))
        positive_int("repeats", self.repeats, at_least=2)
        positive_int("seed", self.seed, at_least=0)
        one_of("rate", self.rule, RULES)
        positive_int("largest", self.largest, at_least=2 * self.base)
        if self.recipe.adversarial_share:
            rule = "be 0: when attacks end depends on the length of the run"
            raise InputError(f"adversarial_share must {rule}, got {self.recipe.adversarial_share}")
        if (updates := self.updates(self.sizes[-1])) < FEWEST:
            rule = f"give a branch at least {FEWEST} updates"
            raise InputError(f"largest must {rule}, got {updates} with {self.sizes[-1]}")

    @property
    def base(self) -> int:
        """The batch size of the warm-up: the base of the recipe's cycles."""
        return self.recipe.cyclical_batch_size

    @property
    def sizes(self) -> tuple[int, ...]:
        """The batch sizes of the branches: the base and its doublings."""
        doublings = int(math.log2(self.largest / self.base) + 1e-9)
        return tuple(self.base * 2**power for power in range(doublings + 1))

    @property
    def branches(self) -> list[tuple[int, int]]:
        """Batch size and number of the repeat of every branch; whole rounds come first."""
        return [(size, repeat) for repeat in range(self.repeats) for size in self.sizes]

    def factor(self, batch_size: int) -> float:
        """Return what a branch multiplies the recipe's learning rate by."""
        growth = batch_size / self.base
        return {"linear": growth, "sqrt": math.sqrt(growth), "constant": 1.0}[self.rule]

    def warm_up_case(self) -> Case:
        """Return the run up to the point where the branches leave."""
        return self._case(self.base, self.warm_up)

    def case_from_start(self, batch_size: int) -> Case:
        """Return an epoch at that size, to see how long its updates take."""
        return replace(self._case(self.base, 1), schedule=constant(batch_size))

    def case(self, batch_size: int) -> Case:
        """Return the run through that point on to the end of a branch."""
        return self._case(batch_size, self.warm_up + self.length)

    def _case(self, batch_size: int, epochs: int) -> Case:
        group = self.recipe.norm_batch_size
        recipe = replace(
            self.recipe, epochs=epochs, norm_batch_size=self.base if group is None else group
        )
        parts = constant(self.base), constant(batch_size)
        schedule = join(*parts, at=(self.warm_up,)) if batch_size > self.base else parts[0]
        return Case(recipe, str(schedule), schedule, recipe.cyclical_rate)

    def updates(self, batch_size: int) -> int:
        """Return how many updates a branch has, on the official amount of data."""
        return self.length * _epoch(self.recipe, batch_size).updates

    @property
    def cost(self) -> "Cost":
        """What all of it takes, on the official amount of data."""
        epoch = _epoch(self.recipe, self.base)
        updates = self.warm_up * epoch.updates
        updates += self.repeats * sum(self.updates(size) for size in self.sizes)
        epochs = self.warm_up + self.repeats * len(self.sizes) * self.length
        return Cost(updates, epochs, epochs * epoch.samples)

    def describe(self) -> dict[str, Any]:
        """Return what makes a probe the same probe."""
        return {
            "recipe": self.recipe.name,
            "settings": self.recipe.to_dict(),
            "base": self.base,
            "sizes": list(self.sizes),
            "warm_up": self.warm_up,
            "length": self.length,
            "repeats": self.repeats,
            "rate": self.rule,
            "seed": self.seed,
        }


@dataclass(frozen=True)
class Cost:
    """How much training a probe is."""

    updates: int
    epochs: int
    samples: int


def design(
    recipe: Recipe,
    *,
    warm_up: int | None = None,
    length: int = 1,
    largest: int | None = None,
    repeats: int = 3,
    rule: str = "sqrt",
    seed: int = 0,
) -> Design:
    """Return the probe of a recipe, with what was not chosen filled in.

    >>> from rebatch.recipes import find
    >>> design(find("c1-cifar10")).sizes
    (128, 256, 512, 1024, 2048, 4096)
    """
    return Design(
        recipe=recipe,
        warm_up=max(1, round(recipe.epochs / SHARE)) if warm_up is None else warm_up,
        length=length,
        largest=_largest(recipe, length) if largest is None else largest,
        repeats=repeats,
        rule=rule,
        seed=seed,
    )


def _largest(recipe: Recipe, length: int) -> int:
    base = recipe.cyclical_batch_size
    sizes = [base * 2**power for power in range(1, DOUBLINGS + 1)]
    fit = [size for size in sizes if length * _epoch(recipe, size).updates >= FEWEST]
    return max(fit, default=2 * base)


def _epoch(recipe: Recipe, batch_size: int) -> Plan:
    schedule = constant(batch_size)
    return Case(replace(recipe, epochs=1), "BL", schedule, recipe.cyclical_rate).plan()
