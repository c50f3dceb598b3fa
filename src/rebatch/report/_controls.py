"""Controls: runs that the paper does not have, each beside the cell it asks about."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from rebatch.report._published import Published, published

QUESTIONS = {
    "base-batch": "is it the cycle, or only its smaller batch? The constant batch of the cycles' "
    "base, at the baseline's rate",
    "equal-noise": "is it the noise scale? The constant batch of the cycles' base, the rate "
    "divided where the batch would grow",
    "equal-updates": "is it the number of updates? The constant batch that takes as many updates",
    "plateau": "is the baseline's decay at fault? Its rate divided by 4 where validation stops "
    "improving",
    "whole-batch-norm": "is it the batch norm? Statistics over the whole batch, not over groups "
    "of the base size",
    "constant-rate": "is it the rate? Kept at 0.05, where the paper's baseline starts at 0.02 and "
    "falls twice",
    "divided-at-75": "is it the rate? From 0.05, divided by 5 at epoch 75",
    "step-snapshots": "a snapshot at the end of every step instead of every cycle",
    "snapshots-as-…": "a snapshot after the epochs where cycles of the schedule named end",
}
"""What a variant is there to answer, and what it does."""


class _Control(NamedTuple):
    schedule: str
    variant: str | None
    beside: str
    part: str = "final"


_LANGUAGE = (
    _Control("BL", "plateau", "BL"),
    _Control("BL", "base-batch", "CBS-10"),
    _Control("CBS-10", "equal-noise", "CBS-10"),
    _Control("CBS-10", "equal-updates", "CBS-10"),
)


def _beside(schedule: str) -> tuple[_Control, ...]:
    """Return the controls of an image classifier, whose cycles start at the baseline's batch."""
    names = ("equal-noise", "equal-updates", "whole-batch-norm")
    return tuple(_Control(schedule, name, schedule) for name in names)


_CONTROLS: dict[tuple[str, str], tuple[_Control, ...]] = {
    ("language", "l1-ptb"): _LANGUAGE,
    ("language", "l1-wikitext2"): _LANGUAGE,
    ("language", "l2-ptb"): _LANGUAGE,
    ("language", "l2-wikitext2"): _LANGUAGE,
    ("cifar10", "c1-cifar10"): _beside("CBS-5-3"),
    ("cifar10", "c2-cifar10"): _beside("CBS-15"),
    ("cifar10", "c3-cifar10"): _beside("CBS-15-2"),
    ("initialization", "c1-initialization"): (
        _Control("BL", "constant-rate", "BL"),
        _Control("BL", "divided-at-75", "BL"),
    ),
    ("ensemble-language", "l1-ptb"): (_Control("CBS-5", None, "CBS-10-A", "ensemble"),),
    ("ensemble-cifar10", "c3-cifar10"): (
        _Control("BL", "snapshots-as-CBS-15-2", "CBS-15-2", "ensemble"),
    ),
    ("imagenet-ensemble", "i1-imagenet"): (
        _Control("BL", "snapshots-as-CBS-10-3", "CBS-10-3", "ensemble"),
    ),
}


def controls(table: str) -> list[Published]:
    """Return the controls of a table.

    >>> [(control.schedule, control.variant) for control in controls("initialization")]
    [('BL', 'constant-rate'), ('BL', 'divided-at-75')]
    """
    metrics = {cell.recipe: cell.metric for cell in published() if cell.table == table}
    return [control for recipe in metrics for control in _of(table, recipe, metrics[recipe])]


def _of(table: str, recipe: str, metric: str) -> Iterator[Published]:
    for schedule, variant, beside, part in _CONTROLS.get((table, recipe), ()):
        yield Published(
            table=table,
            recipe=recipe,
            schedule=schedule,
            variant=variant,
            part=part,
            metric=metric,
            beside=beside,
        )


def questions(cells: Iterable[Published]) -> dict[str, str]:
    """Return what each kind of variant among the cells answers, by its name.

    >>> questions(controls("initialization"))["divided-at-75"]
    'is it the rate? From 0.05, divided by 5 at epoch 75'
    """
    names = dict.fromkeys(_kind(cell.variant) for cell in cells if cell.variant)
    return {name: QUESTIONS[name] for name in names}


def _kind(variant: str) -> str:
    return "snapshots-as-…" if variant.startswith("snapshots-as-") else variant
