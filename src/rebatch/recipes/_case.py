"""A case: a recipe under one schedule, as the paper's own or as a named control."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any

from rebatch import Plan, Policy, Schedule, constant, parse, rates
from rebatch import plan as make_plan
from rebatch._amount import Amount
from rebatch._course import Course, expected
from rebatch.errors import InputError
from rebatch.rates import Rate
from rebatch.recipes._recipe import Recipe
from rebatch.recipes._sizes import amount, caveats

SNAPSHOTS_AS = "snapshots-as-"
REPLAY = "replay-"
"""Begins the variant of a run that trains a recorded plan."""


@dataclass(frozen=True)
class Case:
    """What a run does: its recipe, the sizes it is fed and its learning rate."""

    recipe: Recipe
    code: str
    """The schedule that was asked for."""
    schedule: Schedule | Policy | Course
    """The schedule that is fed: another one than asked for in some controls; or who makes the
    plan; or one that was made."""
    rate: Rate
    variant: str | None = None

    @property
    def policy(self) -> Policy | None:
        """Who makes the plan while it is trained, if anybody."""
        return self.schedule if isinstance(self.schedule, Policy) else None

    @property
    def base(self) -> int:
        """The batch size that the recipe has cycles start from, or its baseline have."""
        if isinstance(self.schedule, Schedule):
            return self.schedule.first_size
        return self.schedule.base

    def plan(self, data: dict[str, Any] | None = None) -> Plan:
        """Return the plan on the data given, or on as much as the data set officially has.

        Of a policy it is the first row: see `expected` for all that is to be expected.
        """
        given, epochs = data or amount(self.recipe), self.recipe.epochs
        if isinstance(self.schedule, Schedule):
            return make_plan(self.schedule, epochs=epochs, **given)
        course = self.course(_amount(given))
        assert course is not None
        return course.plan

    def course(self, held: Amount) -> Course | None:
        """Return the course on this amount of data, where the schedule is not known before."""
        if isinstance(self.schedule, Policy):
            return Course.begun(self.schedule, held, self.recipe.epochs)
        if isinstance(self.schedule, Course):
            return _fitting(self.schedule, held, self.recipe)
        return None

    def expected(self) -> Plan:
        """Return the whole plan on the official data; of a policy an estimate, which says so."""
        if isinstance(self.schedule, Policy):
            held = _amount(amount(self.recipe))
            made = expected(self.schedule, held, self.recipe.epochs)
        else:
            made = self.plan()
        return replace(made, notes=(*made.notes, *caveats(self.recipe)))

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
    _check_policy(plain)
    return _checked(_controlled(plain, variant))


def replay(recipe: Recipe, course: Course, variant: str | None = None) -> Case:
    """Return the case that trains a recorded course as it is; its variant says which.

    ``variant`` names the control that the course was recorded with, if it was one.
    """
    plain = Case(recipe, course.plan.schedule, course, recipe.cyclical_rate)
    name = "-".join([f"{REPLAY}{course.fingerprint}", *([variant] if variant else [])])
    return replace(_checked(_controlled(plain, variant)), variant=name)


def _controlled(plain: Case, variant: str | None) -> Case:
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


def _checked(made: Case) -> Case:
    """Refuse a plateau that the test set would tell, or that would take better for worse."""
    rate, falling = made.rate, _figure_falls(made.recipe)
    if isinstance(rate, rates.plateau):
        if not made.recipe.has_validation:
            raise _no_validation("plateau")
        if rate.falling != falling:
            figure = "perplexity" if falling else "accuracy"
            raise InputError(f"falling must be {falling} for {figure}, got {rate.falling}")
    return made


def _figure_falls(recipe: Recipe) -> bool:
    """Tell whether a lower validation figure is the better one."""
    return recipe.model.startswith("L")


def _amount(data: dict[str, Any]) -> Amount:
    return make_plan(constant(1), epochs=1, **data).amount


def _fitting(course: Course, held: Amount, recipe: Recipe) -> Course:
    """Refuse a course that was made for other data, or for another length."""
    plan = course.plan
    if plan.amount != held:
        raise InputError(f"plan must be made for {held} of {recipe.data}, got {plan.amount}")
    if plan.epochs != recipe.epochs:
        advice = f"change the recipe with --set epochs={plan.epochs:g}"
        raise InputError(
            f"plan must have {recipe.epochs} epochs as the recipe, got {plan.epochs:g}: {advice}"
        )
    return course


def _check_policy(plain: Case) -> None:
    """Refuse a policy that lacks what it watches, and what looks at the sizes it will decide."""
    recipe = plain.recipe
    if plain.policy is None:
        return
    if recipe.norm_batch_size == 0:
        raise InputError(f"norm_batch_size must be above 0 with {plain.code}, got 0")
    if plain.policy.needs_validation and not recipe.has_validation:
        raise _no_validation(plain.code)
    if recipe.snapshot_at == "top-step-end":
        raise InputError(f"snapshot_at must not be top-step-end with {plain.code}, got it")


def _no_validation(name: str) -> InputError:
    return InputError(f"holdout must be above 0 for {name}, so as not to look at the test set")


def _known(plain: Case) -> Schedule:
    """Return the schedule of a control that needs to know it before training."""
    if isinstance(plain.schedule, Schedule):
        return plain.schedule
    raise InputError(f"schedule must be known before training for this variant, got {plain.code}")


def _base_batch(plain: Case) -> Case:
    """Keep the batch at the base of the cycles, with the baseline's rate."""
    _known(plain)
    return replace(
        plain,
        schedule=constant(plain.recipe.cyclical_batch_size),
        rate=plain.recipe.baseline_rate,
    )


def _equal_noise(plain: Case) -> Case:
    """Keep the batch at the base and divide the rate instead: the same noise scale."""
    known = _known(plain)
    return replace(
        plain,
        schedule=constant(known.first_size),
        rate=rates.equal_noise(plain.rate, known),
    )


def _equal_updates(plain: Case) -> Case:
    """Keep the batch constant at the size that gives as many updates as the cycles do."""
    _known(plain)
    cycles = plain.plan()
    low, high = cycles.sizes[0], cycles.sizes[-1]

    def updates(size: int) -> int:
        return replace(plain, schedule=constant(size)).plan().updates

    size = min(range(low, high + 1), key=lambda size: abs(updates(size) - cycles.updates))
    return replace(plain, schedule=constant(size))


def _plateau(plain: Case) -> Case:
    """Divide the rate by 4 whenever the validation figure stops improving."""
    falling = _figure_falls(plain.recipe)
    return replace(plain, rate=rates.plateau(plain.rate(0), by=4, falling=falling))


def _constant_rate(plain: Case) -> Case:
    """Keep the rate at where the cycles begin: with BL, the fair baseline of the first case."""
    return replace(plain, rate=rates.constant(plain.recipe.cyclical_rate(0)))


def _divided_at_75(plain: Case) -> Case:
    """Divide the cycles' first rate by 5 at epoch 75: with BL, the fair baseline of the second."""
    return replace(plain, rate=rates.divided(plain.recipe.cyclical_rate(0), at=(75,), by=5))


def _whole_batch_norm(plain: Case) -> Case:
    """Let batch norm see the whole batch, however large it is."""
    _known(plain)
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
