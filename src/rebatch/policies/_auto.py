"""Cycles that tune themselves: Auto-CBS."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from itertools import groupby, pairwise
from statistics import fmean, median
from typing import ClassVar

from rebatch._growth import grown
from rebatch.errors import positive_int, positive_number
from rebatch.policies._cycle import Cycle, epochs_of
from rebatch.policies._policy import Decision, Outlook, Policy, Seen

STEPS = 4
"""Stairs of the paper's cycle."""
WORSE = 5
"""Rows after the best of validation that show overfitting, at least."""
RISE = 0.8
"""Share of the rise since then in all ups and downs of validation."""
FARTHEST = 64
"""How many times the base overfitting may drive the size."""
MUCH = 64, 256
"""How many times the base the noise scale has to be for the base to be doubled, and again.

It never moves down: the first epoch shows less noise than all later ones, and small batches at the
start would take the updates that the later steps need."""


@dataclass(frozen=True, repr=False)
class auto(Policy):
    """Cycle the batch size, with lengths and sizes taken from what is measured.

    A cycle climbs in powers of two from the base, to 8 times the base where ``share`` times the
    noise scale at the base reaches that, else to 4 times.  A step ends after an even share of the
    cycle, or sooner if the loss has settled; where ``share`` times the noise scale is below the
    next size, growing is not free and the step goes on while the updates last.  At the top the
    cycle ends when the loss has settled, falling by less than ``settled`` an epoch, and the size
    drops to the base.  ``cycle`` is about how many epochs a cycle takes; the last one ends with
    the budget.  Validation that keeps getting worse makes the size grow at once.

    The run never takes more updates than base, 2 and 4 times the base with a third of its epochs
    each, or than the paper's four steps where every cycle climbs to 8 times the base.

    >>> outlook = Outlook(39, 1, lambda size: 26_560 // size, 26_560)
    >>> seen = [Seen(10, 0, 1, 2656, 0, 0, 5.7, noise_scale=160.0)]
    >>> auto(10).next(seen, outlook)[:2]
    (10, '1 of 10 epochs at 10 are over')
    """

    _: KW_ONLY
    share: float = 0.5
    settled: float = 0.002
    cycle: int = 60
    needs_noise: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        positive_number("share", self.share)
        positive_number("settled", self.settled, zero=True)
        positive_int("cycle", self.cycle, at_least=STEPS)

    def first(self, outlook: Outlook) -> Decision:
        """Return an epoch at the base, or at more where the budget is too short for that."""
        size = self._cycle((), (), outlook).first_size()
        if size <= self.base:
            return Decision(size, "a first epoch at the base, to measure the noise")
        return Decision(size, f"{outlook.epochs} epochs are too few to start at {self.base}")

    def next(self, seen: Sequence[Seen], outlook: Outlook) -> Decision:
        """Go on in the cycle, or end it."""
        rows = [row for row in seen if row.cycle == seen[-1].cycle]
        cycle = self._cycle(seen[: -len(rows)], rows, outlook)
        farthest = grown(self.base, FARTHEST, 1, self.limit(outlook))
        if len(seen) == 1 and self._shift(seen, outlook):
            found = _moved(seen[0], cycle.sizes[0])
        elif _worsens(rows) and farthest > seen[-1].batch_size:
            why = "validation got worse while the loss fell: annealing"
            found = Decision(farthest, why)
        elif cycle.stairs_above:
            found = self._below_top(cycle)
        else:
            found = self._at_top(cycle, seen, outlook)
        unit = found.epochs if found.ends_cycle else cycle.unit
        return found._replace(epochs=min(unit, outlook.left), gauges=_gauges(cycle))

    def completes(self, seen: Sequence[Seen], outlook: Outlook) -> bool:
        """The last cycle is planned to end with the budget."""
        return True

    def _below_top(self, cycle: Cycle) -> Decision:
        """Climb, or stay another row."""
        size, larger = cycle.rows[-1].batch_size, cycle.next_size()
        epochs, noise = cycle.epochs_here, _noise(cycle.rows)
        may_stay = cycle.may_stay()
        if may_stay and epochs < cycle.pace:
            if 2 * epochs >= cycle.pace and self._has_settled(cycle):
                return Decision(larger, f"the loss has settled at {size}")
            return Decision(size, f"{epochs} of {cycle.pace} epochs at {size} are over")
        if noise is None:
            return Decision(larger, "no noise scale to go by: the paper's cycle, in even steps")
        free = f"{self.share:g} x noise scale {noise:.4g}"
        if self.share * noise >= larger:
            return Decision(larger, f"{free} is above {larger}: growing is free")
        if may_stay:
            return Decision(size, f"{free} is below {larger}: growing is not free yet")
        return Decision(larger, f"{free} is below {larger}, but no time or updates are left")

    def _at_top(self, cycle: Cycle, seen: Sequence[Seen], outlook: Outlook) -> Decision:
        """End the cycle if the loss has settled and there is time for another."""
        size = cycle.rows[-1].batch_size
        if any(_worsens(cycle.rows[:end]) for end in range(1, len(cycle.rows) + 1)):
            return Decision(size, "validation got worse before: no small batches any more")
        fresh = self._cycle(seen, (), outlook)
        base = fresh.first_size()
        if 2 * outlook.left < max(cycle.length, 4 * len(cycle.sizes)) or base >= cycle.top:
            return Decision(size, f"annealing at {size} until the budget is spent")
        if self._has_settled(cycle):
            why = f"the loss has settled at {size}: back to {base}"
        elif 8 * cycle.rest <= -cycle.length:
            why = f"the loss still falls at {size}, but the cycle is overdue: back to {base}"
        else:
            return Decision(size, f"the loss still falls at {size}")
        return Decision(base, why, epochs=fresh.unit, ends_cycle=True)

    def _has_settled(self, cycle: Cycle) -> bool:
        fall = _fall(cycle.here)
        return fall is not None and fall < self.settled

    def _cycle(self, before: Sequence[Seen], rows: Sequence[Seen], outlook: Outlook) -> Cycle:
        """Return the cycle that starts after some rows, with the rows that it has so far."""
        shift = self._shift([*before, *rows], outlook)
        left = outlook.epochs - epochs_of(before)
        length = -(-left // max(1, int(left / self.cycle + 0.5)))
        saved = Fraction(0)
        for _, group in groupby(before, lambda row: row.cycle):
            done = list(group)
            rate = self._rate(self._steps(done, shift, outlook), outlook)
            saved += rate * epochs_of(done) - sum(row.updates for row in done)
        steps = self._steps(rows, shift, outlook)
        sizes = tuple(dict.fromkeys(self._stairs(shift, steps, outlook)))
        unspent = (self._rate(steps, outlook) + saved / left) * length
        return Cycle(sizes, length, unspent, outlook.updates_of, rows)

    def _rate(self, steps: int, outlook: Outlook) -> Fraction:
        """Return the updates an epoch that so many stairs from the base take, climbed evenly."""
        stairs = self._stairs(0, steps, outlook)
        return Fraction(sum(map(outlook.updates_of, stairs)), len(stairs))

    def _steps(self, rows: Sequence[Seen], shift: int, outlook: Outlook) -> int:
        """Return how many stairs a cycle has: the last only if the noise at its base allows it."""
        stairs = self._stairs(shift, STEPS, outlook)
        noise = _noise([row for row in rows if row.batch_size <= stairs[0]])
        free = noise is None or self.share * noise >= stairs[-1]
        return STEPS if free else STEPS - 1

    def _stairs(self, shift: int, steps: int, outlook: Outlook) -> list[int]:
        """Return the stairs from the base, moved up by powers of two."""
        limit = self.limit(outlook)
        steps = min(steps, outlook.epochs)  # an epoch is the shortest step
        return [grown(self.base, 2, j, limit) for j in range(shift, shift + steps)]

    def _shift(self, seen: Sequence[Seen], outlook: Outlook) -> int:
        """Return by how many powers of two the first epoch moves the base up: 2 at most."""
        if not seen or seen[0].batch_size != self.base or seen[0].noise_scale is None:
            return 0
        most = sum(seen[0].noise_scale >= many * self.base for many in MUCH)
        fitting = (
            n for n in range(most, 0, -1) if len(set(self._stairs(n, STEPS, outlook))) == STEPS
        )
        return next(fitting, 0)


def _moved(row: Seen, base: int) -> Decision:
    why = f"noise scale {row.noise_scale:.4g} is far above {row.batch_size}"
    return Decision(base, f"{why}: the base becomes {base}")


def _worsens(rows: Sequence[Seen]) -> bool:
    """Tell whether validation got worse since a cycle's best while the loss fell to its lowest.

    The rise has to be most of all its ups and downs together: figures without a trend go both ways.
    """
    figures = [row.validation for row in rows if row.validation is not None]
    if len(figures) < len(rows) or rows[-1].train_loss > min(row.train_loss for row in rows):
        return False
    best = min(figures)
    ago = figures[::-1].index(best)
    moves = sum(abs(late - early) for early, late in pairwise(figures[-ago - 1 :]))
    return ago >= WORSE and figures[-1] - best >= RISE * moves


def _noise(rows: Sequence[Seen]) -> float | None:
    """Return the median of the last three readings: single ones are off by factors."""
    readings = [row.noise_scale for row in rows if row.noise_scale is not None]
    return median(readings[-3:]) if readings else None


def _fall(rows: Sequence[Seen]) -> float | None:
    """Return by what share the loss falls in an epoch, from the last four rows of one size."""
    if len(rows) < 4:
        return None
    before = fmean(row.train_loss for row in rows[-4:-2])
    after = fmean(row.train_loss for row in rows[-2:])
    epochs = sum(row.epochs for row in rows[-3:-1])
    return (before - after) / before / epochs if before > 0 else 0.0


def _gauges(cycle: Cycle) -> dict[str, float]:
    row = cycle.rows[-1]
    found = {
        "train_loss": row.train_loss,
        "fall": _fall(cycle.here),
        "noise_scale": _noise(cycle.rows),
        "validation": row.validation,
    }
    return {name: value for name, value in found.items() if value is not None}
