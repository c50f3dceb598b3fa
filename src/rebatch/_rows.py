"""The lines of a plan: rows of training, and the portions of an epoch that a loader walks."""

import math
from dataclasses import dataclass

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

    @classmethod
    def between(
        cls,
        start: Place,
        end: Place,
        count: int,
        *,
        batch_size: int,
        cycle: int,
        step: int,
        ends_cycle: bool,
    ) -> "Row":
        """Return the row that leads from one place to another in data of ``count`` samples."""
        first = fraction(start.epoch, start.offset, count)
        return cls(
            first_epoch=first,
            epochs=fraction(end.epoch, end.offset, count) - first,
            first_update=start.update,
            updates=end.update - start.update,
            first_sample=start.sample,
            samples=end.sample - start.sample,
            batch_size=batch_size,
            cycle=cycle,
            step=step,
            ends_cycle=ends_cycle,
        )

    def moved(self, start: Place, end: Place, count: int) -> "Row":
        """Return the row between other places."""
        size, cycle, step, ends = self.batch_size, self.cycle, self.step, self.ends_cycle
        return Row.between(
            start, end, count, batch_size=size, cycle=cycle, step=step, ends_cycle=ends
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
