"""A plan as something to draw: batch sizes and the positions between which they hold."""

from collections.abc import Sequence
from dataclasses import dataclass

from rebatch._amount import Tokens
from rebatch._plan import Plan, Row


@dataclass(frozen=True, slots=True)
class Stairs:
    """``sizes[i]`` holds from ``edges[i]`` to ``edges[i + 1]``; cycles end at ``ends``."""

    name: str
    edges: tuple[float, ...]
    sizes: tuple[int, ...]
    ends: tuple[float, ...] = ()

    @property
    def total(self) -> float:
        """Where training ends."""
        return self.edges[-1]

    @property
    def low(self) -> int:
        """The smallest batch size."""
        return min(self.sizes)

    @property
    def high(self) -> int:
        """The largest batch size."""
        return max(self.sizes)


def unit_of(plans: Sequence[Plan]) -> str:
    """Return the unit all plans can be drawn over: their clock, or samples where they differ."""
    clocks = {plan.clock for plan in plans}
    if clocks <= {"epochs"} or clocks <= {"updates"}:
        return clocks.pop()
    tokens = all(isinstance(plan.amount, Tokens) for plan in plans)
    return "tokens" if tokens else "samples"


def stairs(plan: Plan, unit: str) -> Stairs:
    """Return the stairs of a plan over ``unit``: epochs, updates, samples or tokens.

    >>> from rebatch import cyclical
    >>> from rebatch._plan import plan
    >>> stairs(plan(cyclical(10, width=5, steps=2), epochs=15, examples=100), "epochs")
    Stairs(name='CBS-5-2', edges=(0, 5, 10, 15), sizes=(10, 20, 10), ends=(10,))
    """
    spans = [(*_span(row, unit), row) for row in plan.rows]
    spans = [span for span in spans if span[1] > span[0]]
    edges = (spans[0][0], *(end for _, end, _ in spans))
    sizes = tuple(row.batch_size for *_, row in spans)
    ends = tuple(end for _, end, row in spans if row.ends_cycle)
    return Stairs(plan.schedule, edges, sizes, ends)


def _span(row: Row, unit: str) -> tuple[float, float]:
    if unit == "epochs":
        return row.first_epoch, row.last_epoch
    if unit == "updates":
        return row.first_update, row.first_update + row.updates
    return row.first_sample, row.first_sample + row.samples
