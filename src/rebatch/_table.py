"""The plan as a value: rows, and the closed forms between samples, updates and epochs.

Loader, learning rate, snapshots, progress bar, cost and plot all read these rows; nothing else
counts.
"""

import hashlib
import json
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

from rebatch._amount import Amount, Examples, Tokens, fraction
from rebatch._rows import Portion, Row
from rebatch._run import Place, Run
from rebatch.errors import InputError, flaw, one_of, plain, positive_int, shown
from rebatch.schedules._schedule import CLOCKS


@dataclass(frozen=True, repr=False)
class Plan:
    """What a training run will do, row by row.  Made by `rebatch.plan`.

    >>> from rebatch import cyclical, plan
    >>> plan(cyclical(10, width=1), epochs=4, examples=100)
    <Plan of CBS-1 from 10: 4 epochs, 4 rows, 20 updates>
    """

    schedule: str
    base: int
    clock: str
    amount: Amount
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        size = f"{self.epochs} epochs, {len(self.rows)} rows, {self.updates} updates"
        return f"<Plan of {self.schedule} from {self.base}: {size}>"

    @property
    def examples(self) -> int:
        """Samples in an epoch: examples, or tokens of a token stream."""
        return self.amount.count

    @property
    def drop_last(self) -> bool:
        """Whether the short last batch of an epoch is left out."""
        return isinstance(self.amount, Examples) and self.amount.drop_last

    @property
    def epochs(self) -> float:
        """Length of training in epochs."""
        return self._in_epochs(self.end)

    @property
    def updates(self) -> int:
        """Number of optimiser updates in all."""
        return self.rows[-1].first_update + self.rows[-1].updates

    @property
    def samples(self) -> int:
        """Number of samples delivered in all."""
        return self.rows[-1].first_sample + self.rows[-1].samples

    @property
    def left_out(self) -> int:
        """Samples that no update sees: dropped last batches, or remainders of columns."""
        return self.end.epoch * self.amount.count + self.end.offset - self.samples

    @property
    def cycle_ends(self) -> tuple[float, ...]:
        """Numbers of finished epochs at which a cycle ends."""
        ends = zip(self.rows, self._places[1:], strict=True)
        return tuple(self._in_epochs(place) for row, place in ends if row.ends_cycle)

    @property
    def sizes(self) -> tuple[int, ...]:
        """The different batch sizes of the plan, smallest first."""
        return tuple(sorted({row.batch_size for row in self.rows}))

    @cached_property
    def fingerprint(self) -> str:
        """A short digest of the data's amount and of how the rows cut it."""
        cut = [(row.batch_size, row.updates, row.epochs) for row in self.rows]
        return hashlib.sha256(repr((self.amount, cut)).encode()).hexdigest()[:16]

    @property
    def end(self) -> Place:
        """Where training ends."""
        return self._places[-1]

    def saved(self, baseline: "Plan") -> float:
        """Return the share of the baseline's updates that this plan does without."""
        return 1 - self.updates / baseline.updates

    def row_at(self, update: int) -> int:
        """Return the index of the row that ``update`` belongs to."""
        update = _checked("update", update, self.updates)
        return bisect_right(self.rows, update, key=lambda row: row.first_update) - 1

    def batch_size_at(self, update: int) -> int:
        """Return the batch size that ``update`` is meant to have."""
        return self.rows[self.row_at(update)].batch_size

    def place_at(self, update: int) -> Place:
        """Return where training stands before ``update``, which may be the end."""
        if update == self.updates:
            return self.end
        index = self.row_at(update)
        return self._run(index).place(int(update) - self.rows[index].first_update)

    def sample_at(self, update: int) -> int:
        """Return how many samples are delivered before ``update``.

        >>> from rebatch import cyclical, plan
        >>> plan(cyclical(10, width=1), epochs=4, examples=100).sample_at(12)
        140
        """
        return self.place_at(update).sample

    def update_at(self, sample: int) -> int:
        """Return the update that uses the sample with this number."""
        sample = _checked("sample", sample, self.samples)
        index = bisect_right(self.rows, sample, key=lambda row: row.first_sample) - 1
        return self.rows[index].first_update + self._run(index).until("samples", sample + 1) - 1

    def epoch_at(self, update: int) -> tuple[int, int]:
        """Return (epoch, updates already made in it) before ``update``."""
        place = self.place_at(update)
        return place.epoch, place.update - self.first_update_of(place.epoch)

    def portions(self, epoch: int) -> tuple[Portion, ...]:
        """Return the parts of an epoch, each at one batch size, in order."""
        epoch, rows = _checked("epoch", epoch, self._epochs_begun), len(self.rows)
        first = self._first_row(epoch)
        after = bisect_right(self._places, epoch, hi=rows, key=lambda place: place.epoch)
        return tuple(self._portion(index, epoch) for index in range(first, after))

    def updates_in(self, epoch: int) -> int:
        """Return the number of updates in an epoch."""
        epoch = _checked("epoch", epoch, self._epochs_begun)
        return self.first_update_of(epoch + 1) - self.first_update_of(epoch)

    def first_update_of(self, epoch: int) -> int:
        """Return the number of updates made before an epoch, which may be the end."""
        if epoch == self._epochs_begun:
            return self.updates
        epoch = _checked("epoch", epoch, self._epochs_begun)
        return self._portion(self._first_row(epoch), epoch).first_update

    def next_row(
        self,
        batch_size: int,
        *,
        epochs: int = 1,
        updates: int | None = None,
        ends_cycle: bool = False,
    ) -> Row:
        """Return a row that may follow: until ``epochs`` epochs have ended, or ``updates`` long.

        >>> from rebatch import constant, plan
        >>> made = plan(constant(10), epochs=1, examples=100)
        >>> made.extend(made.next_row(20, epochs=2)).updates
        20
        """
        last, size = self.rows[-1], positive_int("batch_size", batch_size)
        run = Run(self.amount, size, self.end)
        if not run.each:
            raise too_large(size, self.amount)
        until = run.until("epochs", self.end.epoch + positive_int("epochs", epochs))
        end = run.place(until if updates is None else positive_int("updates", updates))
        return Row.between(
            self.end,
            end,
            self.amount.count,
            batch_size=size,
            cycle=last.cycle + last.ends_cycle,
            step=0 if last.ends_cycle else last.step + 1,
            ends_cycle=ends_cycle,
        )

    def extend(self, row: Row) -> "Plan":
        """Return a plan with one more row, as a policy that decides while training makes it."""
        if row != row.moved(self.end, _end_of(self.amount, row, self.end), self.amount.count):
            raise InputError(f"row must go on where the plan ends, at {self.end}, got {row}")
        return replace(self, rows=(*self.rows, row))

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as JSON-ready values."""
        return {
            "schedule": self.schedule,
            "base": self.base,
            "clock": self.clock,
            "epochs": self.epochs,
            "updates": self.updates,
            "samples": self.samples,
            "left_out": self.left_out,
            "cycle_ends": list(self.cycle_ends),
            "data": {"kind": type(self.amount).__name__.lower(), **asdict(self.amount)},
            "notes": list(self.notes),
            "rows": [asdict(row) for row in self.rows],
        }

    def to_json(self, *, indent: int | None = None) -> str:
        """Return the plan as JSON."""
        return json.dumps(self.to_dict(), indent=indent)

    @classmethod
    def from_json(cls, text: str) -> "Plan":
        """Read a plan that `to_json` wrote; one whose rows do not fit together is refused."""
        try:
            return _read_plan(json.loads(text))
        except (LookupError, TypeError, ValueError, ArithmeticError, RecursionError) as error:
            raise InputError(f"plan must be JSON written by to_json, got {flaw(error)}") from None

    @cached_property
    def _places(self) -> tuple[Place, ...]:
        """Where every row starts, and where the last one ends: exact, where epochs are floats."""
        places = [Place()]
        for row in self.rows:
            places.append(_end_of(self.amount, row, places[-1]))
        return tuple(places)

    @property
    def _epochs_begun(self) -> int:
        return self.end.epoch + (self.end.offset > 0)

    def _in_epochs(self, place: Place) -> float:
        return fraction(place.epoch, place.offset, self.amount.count)

    def _run(self, index: int) -> Run:
        return Run(self.amount, self.rows[index].batch_size, self._places[index])

    def _first_row(self, epoch: int) -> int:
        """Return the index of the row that an epoch begins in."""
        rows = len(self.rows)
        return bisect_right(self._places, (epoch, 0), hi=rows, key=lambda place: place[:2]) - 1

    def _portion(self, index: int, epoch: int) -> Portion:
        row, run = self.rows[index], self._run(index)
        start, end = self._places[index], self._places[index + 1]
        before = run.until("epochs", epoch) if start.epoch < epoch else 0
        until = run.until("epochs", epoch + 1) if epoch < end.epoch else row.updates
        offset = start.offset if start.epoch == epoch else 0
        stop = self.amount.count if epoch < end.epoch else end.offset
        first = row.first_update + before
        return Portion(epoch, first, until - before, offset, stop - offset, row.batch_size, index)


def replay(amount: Amount, rows: Iterable[Row]) -> Iterator[Row]:
    """Yield the rows as they read in sequence over ``amount``: sizes and updates decide."""
    start = Place()
    for row in rows:
        end = _end_of(amount, row, start)
        yield row.moved(start, end, amount.count)
        start = end


def too_large(batch_size: int, amount: Amount) -> InputError:
    """Return the complaint about a batch size that no epoch has an update of."""
    rule = f"leave at least one update in an epoch of {amount.count} samples"
    return InputError(f"batch size must {rule}, got {batch_size}")


def _end_of(amount: Amount, row: Row, start: Place) -> Place:
    run = Run(amount, row.batch_size, start)
    if run.each:
        return run.place(row.updates)
    return start._replace(epoch=round(row.last_epoch), offset=0)  # epochs without an update


def _checked(name: str, value: object, limit: int) -> int:
    value = plain(value)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < limit:
        raise InputError(f"{name} must be from 0 to {limit - 1}, got {shown(value)}")
    return value


def _read_plan(data: dict[str, Any]) -> Plan:
    amount = _read_amount(**data["data"])
    rows = tuple(replay(amount, [_read_row(**row) for row in data["rows"]]))
    base, clock = positive_int("base", data["base"]), one_of("clock", data["clock"], CLOCKS)
    made = Plan(str(data["schedule"]), base, clock, amount, rows, tuple(map(str, data["notes"])))
    if made.to_dict() != data:
        raise ValueError("rows and totals that do not fit together")
    return made


def _read_amount(kind: str, count: int, *, drop_last: bool = False, bptt: int = 1) -> Amount:
    positive_int("count", count)
    if one_of("kind", kind, ("examples", "tokens")) == "tokens":
        return Tokens(count, positive_int("bptt", bptt))
    return Examples(count, drop_last is True)


def _read_row(**values: Any) -> Row:
    for name in ("updates", "cycle", "step"):
        positive_int(name, values[name], at_least=0)
    positive_int("batch_size", values["batch_size"])
    return Row(**{**values, "ends_cycle": values["ends_cycle"] is True})
