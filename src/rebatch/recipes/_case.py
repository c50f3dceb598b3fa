"""A case: a recipe under one schedule, as the paper's own or as a named control."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any

from rebatch import Plan, Schedule, constant, parse, rates
from rebatch import plan as make_plan
from rebatch.errors import InputError
from rebatch.rates import Rate
from rebatch.recipes._recipe import Recipe
from rebatch.recipes._sizes import amount

SNAPSHOTS_AS = "snapshots-as-"


@dataclass(frozen=True)
class Case:
    """What a run does: its recipe, the sizes it is fed and its learning rate."""

    recipe: Recipe
    code: str
    """The schedule that was asked for."""
    schedule: Schedule
    """The schedule that is fed: another one than asked for in some controls."""
    rate: Rate
    variant: str | None = None

    def plan(self, data: dict[str, Any] | None = None) -> Plan:
        """Return the plan on the data given, or on as much as the data set officially has."""
        return make_plan(self.schedule, epochs=self.recipe.epochs, **(data or amount(self.recipe)))

    def rate_at(self, position: float, history: Sequence[float]) -> float:
        """Return the learning rate at a position in epochs."""
        if isinstance(self.rate, rates.plateau):
            return self.rate.after(history)
        return self.rate(position)


def case(recipe: Recipe, code: str, variant: str | None = None) -> Case:
    """Return the case of a recipe under a schedule.

    BL takes the baseline's batch size and rate, every other schedule those of the cycles.
    ``variant`` names a control: see `VARIANTS`; ``snapshots-as-CODE`` is a run that takes its
    snapshots where the cycles of another schedule end.
    """
    is_baseline = code.strip().upper() == "BL"
    base = recipe.baseline_batch_size if is_baseline else recipe.cyclical_batch_size
    rate = recipe.baseline_rate if is_baseline else recipe.cyclical_rate
    schedule = parse(code, base)
    plain = Case(recipe, str(schedule), schedule, rate)
    if variant is None:
        return plain
    if variant.startswith(SNAPSHOTS_AS):
        return replace(_snapshots_as(plain, variant.removeprefix(SNAPSHOTS_AS)), variant=variant)
    if variant not in VARIANTS:
        names = ", ".join((*VARIANTS, f"{SNAPSHOTS_AS}CODE"))
        near = get_close_matches(variant, VARIANTS, n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise InputError(f"variant must be one of {names}, got {variant!r}{hint}")
    return replace(VARIANTS[variant](plain), variant=variant)


def _base_batch(plain: Case) -> Case:
    """Keep the batch at the base of the cycles, with the baseline's rate."""
    return replace(
        plain,
        schedule=constant(plain.recipe.cyclical_batch_size),
        rate=plain.recipe.baseline_rate,
    )


def _equal_noise(plain: Case) -> Case:
    """Keep the batch at the base and divide the rate instead: the same noise scale."""
    return replace(
        plain,
        schedule=constant(plain.schedule.first_size),
        rate=rates.equal_noise(plain.rate, plain.schedule),
    )


def _equal_updates(plain: Case) -> Case:
    """Keep the batch constant at the size that gives as many updates as the cycles do."""
    cycles = plain.plan()
    low, high = cycles.sizes[0], cycles.sizes[-1]

    def updates(size: int) -> int:
        return replace(plain, schedule=constant(size)).plan().updates

    size = min(range(low, high + 1), key=lambda size: abs(updates(size) - cycles.updates))
    return replace(plain, schedule=constant(size))


def _plateau(plain: Case) -> Case:
    """Divide the rate by 4 whenever the validation figure stops improving."""
    if not plain.recipe.has_validation:
        raise InputError("holdout must be above 0 for plateau, so as not to look at the test set")
    metric_falls = plain.recipe.model.startswith("L")
    return replace(plain, rate=rates.plateau(plain.rate(0), by=4, falling=metric_falls))


def _constant_rate(plain: Case) -> Case:
    """Keep the rate at where the cycles begin: with BL, the fair baseline of the first case."""
    return replace(plain, rate=rates.constant(plain.recipe.cyclical_rate(0)))


def _divided_at_75(plain: Case) -> Case:
    """Divide the cycles' first rate by 5 at epoch 75: with BL, the fair baseline of the second."""
    return replace(plain, rate=rates.divided(plain.recipe.cyclical_rate(0), at=(75,), by=5))


def _whole_batch_norm(plain: Case) -> Case:
    """Let batch norm see the whole batch, however large it is."""
    return replace(plain, recipe=replace(plain.recipe, norm_batch_size=0))


def _step_snapshots(plain: Case) -> Case:
    """Take a snapshot at the end of every step instead of every cycle."""
    return replace(plain, recipe=replace(plain.recipe, snapshot_at="step-end"))


def _snapshots_as(plain: Case, code: str) -> Case:
    ends = case(plain.recipe, code).plan().cycle_ends
    if not ends:
        raise InputError(f"variant must name a schedule with a cycle that ends, got {code!r}")
    epochs = tuple(int(epoch) for epoch in ends)
    return replace(plain, recipe=replace(plain.recipe, snapshot_epochs=epochs))


VARIANTS: dict[str, Callable[[Case], Case]] = {
    "base-batch": _base_batch,
    "equal-noise": _equal_noise,
    "equal-updates": _equal_updates,
    "plateau": _plateau,
    "constant-rate": _constant_rate,
    "divided-at-75": _divided_at_75,
    "whole-batch-norm": _whole_batch_norm,
    "step-snapshots": _step_snapshots,
}
