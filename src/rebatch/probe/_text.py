"""A probe in words: what it costs, its table, and what follows from it."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rebatch.probe._design import Design
from rebatch.probe._verdict import CYCLES, Level, Verdict

if TYPE_CHECKING:
    from rich.table import Table


def announce(design: Design, seconds: float | None = None) -> str:
    """Say what will be trained, and how much that is."""
    cost, sizes = design.cost, design.sizes
    run = design.recipe.epochs
    rate = {"linear": "grows as the batch", "sqrt": "grows as the square root", "constant": "stays"}
    unit = "tokens" if design.recipe.model.startswith("L") else "samples"
    time = "" if seconds is None else f", about {duration(seconds)} here"
    return (
        f"{design.recipe.name}: {epochs(design.warm_up)} of warm-up at {design.base:,}, then "
        f"{design.repeats * len(design.sizes):,} branches of {epochs(design.length)}, "
        f"{design.repeats} at each of {', '.join(f'{size:,}' for size in sizes)}; "
        f"the learning rate {rate[design.rule]}\n"
        f"cost: {cost.updates:,} updates, {cost.samples:,} {unit} in {epochs(cost.epochs)} "
        f"({cost.epochs / run:.0%} of a run of {run}){time}"
    )


def duration(seconds: float) -> str:
    """Write a time in the unit that suits it.

    >>> [duration(seconds) for seconds in (0.2, 42, 600, 9000)]
    ['1 s', '42 s', '10 min', '2.5 h']
    """
    if seconds < 100:
        return f"{max(1, round(seconds))} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


def epochs(count: int) -> str:
    """Write a number of epochs.

    >>> epochs(1), epochs(4)
    ('1 epoch', '4 epochs')
    """
    return "1 epoch" if count == 1 else f"{count} epochs"


def table(verdict: Verdict) -> "Table":
    """Return the levels as a table that rich prints."""
    from rich.box import SIMPLE
    from rich.table import Table

    held_out = [name for name in verdict.levels[0].held_out if name.endswith("_loss")]
    made = Table(box=SIMPLE, pad_edge=False)
    names = ("batch size", "updates", "rate", "training loss", "difference", "free")
    for name in (*names, *(name.replace("_", " ") for name in held_out)):
        made.add_column(name, justify="right", no_wrap=True)
    for level in verdict.levels:
        losses = (f"{level.held_out[name]:.4f}" if level.held_out else "–" for name in held_out)
        made.add_row(*_cells(verdict, level), *losses)
    return made


def conclusions(verdict: Verdict) -> Iterator[str]:
    """Yield what follows, a line each."""
    yield f"tolerance {verdict.tolerance:.4f}: {_reason(verdict)}"
    unit = "columns" if verdict.design.recipe.model.startswith("L") else "samples"
    scale = verdict.noise_scale
    told = "could not be told" if scale is None else f"{scale:,.0f} {unit}"
    yield f"gradient noise scale of the base branches: {told}"
    yield _limit(verdict)
    yield _proposal(verdict)


def _cells(verdict: Verdict, level: Level) -> Iterator[str]:
    yield f"{level.batch_size:,}"
    yield f"{level.updates:,}"
    yield f"x {verdict.design.factor(level.batch_size):.3g}"
    yield "lost its numbers" if level.loss is None else f"{level.loss:.4f}"
    is_base = level.batch_size == verdict.design.base
    yield "–" if is_base or level.difference is None else f"{level.difference:+.4f}"
    yield "base" if is_base else "yes" if level.free else "no"


def _reason(verdict: Verdict) -> str:
    if verdict.is_least:
        return "half a per cent of the base's loss, for repeats differ less"
    times = verdict.tolerance / verdict.spread
    return f"{times:.3g} x the spread between repeats of the base, {verdict.spread:.4f}"


def _limit(verdict: Verdict) -> str:
    if not verdict.is_bound:
        return f"doubling is free up to {verdict.critical:,}, the largest tried: see --largest"
    if verdict.critical == verdict.design.base:
        return f"not even the first doubling, to {2 * verdict.critical:,}, is free"
    return f"doubling is free up to {verdict.critical:,} and no longer at {2 * verdict.critical:,}"


def _proposal(verdict: Verdict) -> str:
    design = verdict.design
    if verdict.code == "BL":
        return "proposed: BL, for there is nothing to cycle through; a smaller base may have it"
    sizes = f"{design.base:,} to {verdict.critical:,}"
    rule = f"a step for each free size, {CYCLES} cycles in {epochs(design.recipe.epochs)}"
    return f"proposed: {verdict.code} from {sizes}: {rule}"
