"""The lines of a plan: rows of training, and the portions of an epoch that a loader walks."""

import math
from dataclasses import dataclass, replace

from rebatch._amount import fraction
from rebatch._run import Place


@dataclass(frozen=True, slots=True)
class Row:
    """A stretch of training at one batch size."""

    first_epoch: float
    """Whole, or a fraction where a row starts inside an epoch."""
    epochs: float
    first_update: int
    updates: int
    first_sample: int
    """Samples that the rows before have delivered."""
    samples: int
    batch_size: int
    cycle: int
    step: int
    ends_cycle: bool

    @property
    def last_epoch(self) -> float:
        """The number of epochs finished when the row ends."""
        end = self.first_epoch + self.epochs
        return round(end) if math.isclose(end, round(end), rel_tol=1e-15) else end

    def moved(self, start: Place, end: Place, count: int) -> "Row":
        """Return the row as it reads between two places of data with ``count`` samples."""
        first, last = (fraction(place.epoch, place.offset, count) for place in (start, end))
        return replace(
            self,
            first_epoch=first,
            epochs=last - first,
            first_update=start.update,
            updates=end.update - start.update,
            first_sample=start.sample,
            samples=end.sample - start.sample,
        )


@dataclass(frozen=True, slots=True)
class Portion:
    """The part of a row that lies in one epoch: a stretch of data cut at one batch size.

    The portions of an epoch follow each other without a gap.  One without an update covers data
    that is left out, because too little was left for a batch of its size.
    """

    epoch: int
    first_update: int
    """Counted from the start of training."""
    updates: int
    offset: int
    """Where in the epoch's data the stretch starts."""
    length: int
    """How much of the epoch's data it covers, a left-out remainder included."""
    batch_size: int
    row: int
