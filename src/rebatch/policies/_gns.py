"""A batch size that follows the gradient noise scale."""

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

from rebatch._growth import grown
from rebatch.errors import InputError, positive_int, positive_number
from rebatch.policies._policy import Decision, Outlook, Policy, Seen

GROWTH = 64
"""How many times the base the size may become where no largest one is given."""


@dataclass(frozen=True, repr=False)
class gns(Policy):
    """Follow ``share`` times the gradient noise scale tr(Σ)/|G|², in powers of two of the base.

    The size changes only where both of the last two rows, at the same size, call for at least a
    factor of 2, and then by the smaller of the two calls: one stray reading moves nothing.  It
    stays between ``smallest``, else the base, and ``largest``, else 64 times the base.

    >>> rule, outlook = gns(10), Outlook(39, 2, lambda size: 26_560 // size, 26_560)
    >>> seen = [Seen(10, epoch, 1, 2656, 0, epoch, 5.0, noise_scale=450.0) for epoch in (0, 1)]
    >>> rule.next(seen, outlook)[:2]
    (40, '0.1 x noise scale is 45 and 45 in two rows, beyond twice 10')
    """

    _: KW_ONLY
    share: float = 0.1
    smallest: int | None = None
    needs_noise: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        positive_number("share", self.share)
        if self.smallest is not None and positive_int("smallest", self.smallest) > self.base:
            raise InputError(
                f"smallest must be at most base, which is {self.base}, got {self.smallest}"
            )

    def next(self, seen: Sequence[Seen], outlook: Outlook) -> Decision:
        """Return the size that the last two rows agree on, or the same size again."""
        size, rows = seen[-1].batch_size, _alike(seen)
        readings = [row.noise_scale for row in rows if row.noise_scale is not None]
        wanted = [self.share * reading for reading in readings]
        gauges = self._gauges(seen[-1].noise_scale)
        shown = " and ".join(f"{value:.4g}" for value in wanted)
        calls = f"{self.share:g} x noise scale is {shown} in two rows"
        if len(rows) < 2:
            return Decision(size, f"one row at {size} is too few to go by", gauges=gauges)
        if lost := 2 - len(readings):
            rows_lost = "both rows" if lost == 2 else "one of two rows"
            why = f"the noise scale could not be told in {rows_lost}: {size} stays"
            return Decision(size, why, gauges=gauges)
        if min(wanted) >= 2 * size:
            above = f"{calls}, beyond twice {size}"
            return self._moved(size, self._size(min(wanted), outlook), above, gauges)
        if 2 * max(wanted) <= size:
            below = f"{calls}, below half of {size}"
            return self._moved(size, self._size(max(wanted), outlook), below, gauges)
        return Decision(size, f"{calls}: {size} stays within a factor of 2", gauges=gauges)

    def _gauges(self, reading: float | None) -> dict[str, float]:
        return {} if reading is None else {"noise_scale": reading, "wanted": self.share * reading}

    def _size(self, wanted: float, outlook: Outlook) -> int:
        """Return the power of two of the base at or below what is wanted, within the limits."""
        limit = self.limit(outlook)
        if self.largest is None:
            limit = min(limit, GROWTH * self.base)
        smallest = min(limit, self.smallest or self.base)
        if wanted <= smallest:
            return smallest
        power = math.floor(math.log2(min(wanted, limit) / self.base))
        near = grown(self.base, 2, power, limit)
        return limit if 2 * near > limit and wanted >= limit else max(smallest, near)

    def _moved(self, size: int, new: int, why: str, gauges: dict[str, float]) -> Decision:
        return Decision(
            new, f"{why}, but {size} is the limit" if new == size else why, gauges=gauges
        )


def _alike(seen: Sequence[Seen]) -> list[Seen]:
    """Return the last two rows, as far as they had the same size."""
    return [row for row in seen[-2:] if row.batch_size == seen[-1].batch_size]
