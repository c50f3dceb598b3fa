"""The plan: a schedule turned into a table of rows before training starts.

Loader, learning rate, snapshots, progress bar, cost and plot all read these rows; nothing else
counts.  Between a position in samples and an update there is a closed form in both directions.
"""

import hashlib
import json
import math
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from rebatch._amount import ENDLESS, Amount, Examples, Run, Tokens, fraction, offset_in
from rebatch.errors import InputError, positive_int
from rebatch.schedules import Schedule, Stair, constant


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
        return round(end) if abs(end - round(end)) < 1e-9 else end


@dataclass(frozen=True, slots=True)
class Portion:
    """The part of a row that lies in one epoch: a stretch of data cut at one batch size."""

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


@dataclass(frozen=True)
class Plan:
    """What a training run will do, row by row.  Made by `rebatch.plan`."""

    schedule: str
    base: int
    clock: str
    amount: Amount
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()

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
        return self.rows[-1].last_epoch

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
        epoch, offset = offset_in(self.epochs, self.amount.count)
        return epoch * self.amount.count + offset - self.samples

    @property
    def cycle_ends(self) -> tuple[float, ...]:
        """Numbers of finished epochs at which a cycle ends."""
        return tuple(row.last_epoch for row in self.rows if row.ends_cycle)

    @property
    def sizes(self) -> tuple[int, ...]:
        """The different batch sizes of the plan, smallest first."""
        return tuple(sorted({row.batch_size for row in self.rows}))

    @property
    def fingerprint(self) -> str:
        """A short digest: equal exactly for plans that feed the same batches."""
        cut = [(row.updates, row.batch_size) for row in self.rows]
        return hashlib.sha256(repr((self.amount, cut)).encode()).hexdigest()[:16]

    def saved(self, baseline: "Plan") -> float:
        """Return the share of the baseline's updates that this plan does without."""
        return 1 - self.updates / baseline.updates

    def row_at(self, update: int) -> int:
        """Return the index of the row that ``update`` belongs to."""
        self._check("update", update, self.updates)
        return bisect_right(self.rows, update, key=lambda row: row.first_update) - 1

    def sample_at(self, update: int) -> int:
        """Return how many samples are delivered before ``update``.

        >>> from rebatch import cyclical
        >>> plan(cyclical(10, width=1), epochs=4, examples=100).sample_at(12)
        140
        """
        if update == self.updates:
            return self.samples
        row = self.rows[self.row_at(update)]
        return row.first_sample + self._run(row).samples(update - row.first_update)

    def update_at(self, sample: int) -> int:
        """Return the update that uses the sample with this number."""
        self._check("sample", sample, self.samples)
        index = bisect_right(self.rows, sample, key=lambda row: row.first_sample) - 1
        row = self.rows[index]
        return row.first_update + self._run(row).until_samples(sample - row.first_sample + 1) - 1

    def epoch_at(self, update: int) -> tuple[int, int]:
        """Return (epoch, updates already made in it) before ``update``."""
        if update == self.updates:
            epoch, offset = offset_in(self.epochs, self.amount.count)
            return (epoch, update - self.first_update_of(epoch)) if offset else (epoch, 0)
        row = self.rows[self.row_at(update)]
        passed, _ = self._run(row).epoch(update - row.first_update)
        epoch = math.floor(row.first_epoch) + passed
        return epoch, update - self.first_update_of(epoch)

    def batch_size_at(self, update: int) -> int:
        """Return the batch size that ``update`` is meant to have."""
        return self.rows[self.row_at(update)].batch_size

    def portions(self, epoch: int) -> tuple[Portion, ...]:
        """Return the parts of an epoch, each at one batch size, in order."""
        self._check("epoch", epoch, math.ceil(self.epochs))
        first = bisect_right(self.rows, float(epoch), key=lambda row: row.first_epoch) - 1
        found = (self._portion(index, epoch) for index in range(first, len(self.rows)))
        return tuple(_until_none(found))

    def updates_in(self, epoch: int) -> int:
        """Return the number of updates in an epoch."""
        return sum(portion.updates for portion in self.portions(epoch))

    def first_update_of(self, epoch: int) -> int:
        """Return the number of updates made before an epoch."""
        if epoch == math.ceil(self.epochs):
            return self.updates
        return self.portions(epoch)[0].first_update

    def extend(self, row: Row) -> "Plan":
        """Return a plan with one more row, as a policy that decides while training makes it."""
        last = self.rows[-1]
        wanted = (last.last_epoch, self.updates, self.samples)
        if (row.first_epoch, row.first_update, row.first_sample) != wanted:
            raise InputError(f"row must start where the plan ends, at {wanted}, got {row}")
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
        """Read a plan that `to_json` wrote."""
        try:
            return _read_plan(json.loads(text))
        except (KeyError, TypeError, ValueError, RecursionError) as error:
            raise InputError(f"plan must be JSON written by to_json, got {error!r}") from None

    def _run(self, row: Row) -> Run:
        offset = offset_in(row.first_epoch, self.amount.count)[1]
        return Run(self.amount, row.batch_size, offset)

    def _portion(self, index: int, epoch: int) -> Portion | None:
        row, run = self.rows[index], self._run(self.rows[index])
        start_epoch, start = offset_in(row.first_epoch, self.amount.count)
        if start_epoch > epoch or not row.updates:
            return None if start_epoch > epoch else self._empty(index, epoch)
        passed = epoch - start_epoch
        before = run.until_epoch(passed) if passed else 0
        updates = min(run.until_epoch(passed + 1), row.updates) - before
        offset = 0 if passed else start
        whole = row.updates - before > updates or run.epoch(row.updates)[0] > passed
        length = self.amount.count - offset
        if not whole:
            length = self.amount.length(updates, row.batch_size)
        first = row.first_update + before
        return Portion(epoch, first, updates, offset, length, row.batch_size, index)

    def _empty(self, index: int, epoch: int) -> Portion:
        row = self.rows[index]
        return Portion(epoch, row.first_update, 0, 0, self.amount.count, row.batch_size, index)

    @staticmethod
    def _check(name: str, value: int, limit: int) -> None:
        if not 0 <= value < limit:
            raise InputError(f"{name} must be from 0 to {limit - 1}, got {value}")


def plan(
    schedule: Schedule,
    *,
    epochs: int | None = None,
    updates: int | None = None,
    samples: int | None = None,
    examples: int | None = None,
    tokens: int | None = None,
    bptt: int | None = None,
    drop_last: bool = False,
    tokens_per_example: int | None = None,
) -> Plan:
    """Turn a schedule, an amount of data and a length of training into a plan.

    Give the data as ``examples``, or as ``tokens`` read in segments of ``bptt``; give the length
    as ``epochs``, ``updates`` or ``samples`` (training stops after the update that reaches it).
    Without ``examples`` the data is one stream, read once.  A schedule that counts tokens of
    examples needs ``tokens_per_example``.

    >>> from rebatch import cyclical
    >>> made = plan(cyclical(128, width=5, steps=3, growth=4), epochs=90, examples=50_000)
    >>> made.updates, made.cycle_ends
    (15420, (15, 30, 45, 60, 75, 90))
    """
    if not isinstance(schedule, Schedule):
        raise InputError(
            f"schedule must be a schedule, use rebatch.parse for text, got {schedule!r}"
        )
    amount = _amount(examples, tokens, bptt, drop_last, samples)
    length = _length(epochs, updates, samples)
    per_sample = _per_sample(schedule, amount, tokens_per_example)
    if amount.count == ENDLESS and (schedule.clock == "epochs" or length[0] == "epochs"):
        raise InputError("examples must be given where epochs are counted, got none")
    builder = _Builder(schedule, amount, length, per_sample)
    rows = tuple(builder.build())
    if amount.count == ENDLESS:
        amount = replace(amount, count=rows[-1].first_sample + rows[-1].samples)
        rows = tuple(_in_epochs(row, amount.count) for row in rows)
    return Plan(
        str(schedule), schedule.first_size, schedule.clock, amount, rows, tuple(builder.notes)
    )


def baseline(made: Plan, batch_size: int | None = None) -> Plan:
    """Return the plan of the same length in epochs at one constant batch size."""
    size = made.base if batch_size is None else batch_size
    schedule = constant(size)
    run = Run(made.amount, positive_int("batch_size", size), 0)
    epoch, offset = offset_in(made.epochs, made.amount.count)
    updates = run.until_epoch(epoch) if epoch else 0
    updates += made.amount.updates(offset, size) if offset else 0
    builder = _Builder(schedule, made.amount, ("updates", updates), 1)
    return Plan("BL", size, "epochs", made.amount, tuple(builder.build()))


def _amount(
    examples: int | None,
    tokens: int | None,
    bptt: int | None,
    drop_last: bool,
    samples: int | None,
) -> Amount:
    if tokens is not None:
        if examples is not None:
            raise InputError("examples must not be given together with tokens, got both")
        if drop_last:
            raise InputError("drop_last must not be given with tokens, got True")
        if bptt is None:
            raise InputError("bptt must be given with tokens, got none")
        return Tokens(positive_int("tokens", tokens, at_least=2), positive_int("bptt", bptt))
    if bptt is not None:
        raise InputError(f"bptt must be given with tokens only, got {bptt}")
    if examples is None:
        return Examples(ENDLESS if samples is None else positive_int("samples", samples), drop_last)
    return Examples(positive_int("examples", examples), drop_last)


def _length(epochs: int | None, updates: int | None, samples: int | None) -> tuple[str, int]:
    given = {"epochs": epochs, "updates": updates, "samples": samples}
    said = {name: value for name, value in given.items() if value is not None}
    if len(said) != 1:
        names = ", ".join(said) or "none"
        raise InputError(f"length must be one of epochs, updates and samples, got {names}")
    name, value = said.popitem()
    return name, positive_int(name, value)


def _per_sample(schedule: Schedule, amount: Amount, tokens_per_example: int | None) -> int:
    if schedule.clock != "tokens" or isinstance(amount, Tokens):
        return 1
    if tokens_per_example is None:
        raise InputError(
            "tokens_per_example must be given for a schedule that counts tokens, got none"
        )
    return positive_int("tokens_per_example", tokens_per_example)


class _Builder:
    """Walks the stairs of a schedule once and writes down the rows."""

    def __init__(
        self, schedule: Schedule, amount: Amount, length: tuple[str, int], per_sample: int
    ) -> None:
        self.schedule, self.amount, self.length = schedule, amount, length
        self.per_sample = per_sample
        self.epoch = self.offset = self.update = self.sample = 0
        self.notes: list[str] = []

    def build(self) -> Iterator[Row]:
        """Yield the rows: stairs that follow each other unchanged become one."""
        row: Row | None = None
        key: tuple[int, int, int] | None = None
        number = 0
        while not self._finished():
            stair = self.schedule.stair(self._clock())
            piece = self._walk(stair)
            if row and key == stair[:1] + stair[2:4] and not row.ends_cycle:
                row = _joined(row, piece)
                continue
            if row:
                yield row
                number = number + 1 if row.cycle == stair.cycle else 0
            key = stair[:1] + stair[2:4]
            row = replace(piece, step=number)
        if row is None:
            raise InputError("data must be enough for one update, got too few samples")
        yield row

    def _clock(self) -> float:
        here = {"epochs": self.epoch, "updates": self.update}
        return here.get(self.schedule.clock, self.sample * self.per_sample)

    def _finished(self) -> bool:
        name, value = self.length
        return value <= {"epochs": self.epoch, "updates": self.update}.get(name, self.sample)

    def _walk(self, stair: Stair) -> Row:
        if self.offset and not self._updates_left(stair.batch_size):
            self.epoch, self.offset = self.epoch + 1, 0
            if self._finished():
                stair = stair._replace(ends_cycle=False)
        run = Run(self.amount, stair.batch_size, self.offset)
        wanted = self._until(run, self.schedule.clock, stair.end, self.per_sample)
        allowed = self._until(run, *self.length, 1)
        updates = int(min(wanted, allowed))
        self._remark(stair, wanted, allowed)
        return self._advance(run, updates, stair, ends=stair.ends_cycle and wanted <= allowed)

    def _updates_left(self, batch_size: int) -> int:
        return self.amount.updates(self.amount.count - self.offset, batch_size)

    def _until(self, run: Run, clock: str, end: float, per_sample: int) -> float:
        if end == math.inf:
            return math.inf
        if clock == "updates":
            return math.ceil(end) - self.update
        if clock == "epochs":
            return run.until_epoch(math.ceil(end) - self.epoch)
        if not self.amount.updates(self.amount.count, run.batch_size):
            return math.inf
        return run.until_samples(math.ceil(end / per_sample) - self.sample)

    def _remark(self, stair: Stair, wanted: float, allowed: float) -> None:
        if self.update == 0 and allowed < wanted < math.inf:
            clock = self.schedule.clock
            self.notes.append(
                f"the first step lasts {stair.end} {clock}, longer than training: "
                "the batch size never changes"
            )

    def _advance(self, run: Run, updates: int, stair: Stair, *, ends: bool) -> Row:
        epoch, offset, update, sample = self.epoch, self.offset, self.update, self.sample
        if not self.amount.updates(self.amount.count, run.batch_size):
            self._skip(stair)
        else:
            passed, place = run.place(updates)
            self.epoch, self.offset = epoch + passed, place
            self.update += updates
            self.sample += run.samples(updates)
        count = self.amount.count
        start, end = fraction(epoch, offset, count), fraction(self.epoch, self.offset, count)
        made, seen = self.update - update, self.sample - sample
        size = stair.batch_size
        return Row(start, end - start, update, made, sample, seen, size, stair.cycle, 0, ends)

    def _skip(self, stair: Stair) -> None:
        """Pass over epochs that a batch of this size cannot make a single update of."""
        if self.schedule.clock != "epochs" or self.length[0] != "epochs":
            raise InputError(
                f"batch size must leave at least one update in an epoch of "
                f"{self.amount.count} samples, got {stair.batch_size}"
            )
        self.notes.append(
            f"batch size {stair.batch_size} gives no update in an epoch of "
            f"{self.amount.count} samples"
        )
        self.epoch = int(
            min(math.ceil(stair.end) if stair.end < math.inf else math.inf, self.length[1])
        )


def _joined(row: Row, piece: Row) -> Row:
    return replace(
        row,
        epochs=piece.first_epoch + piece.epochs - row.first_epoch,
        updates=row.updates + piece.updates,
        samples=row.samples + piece.samples,
        ends_cycle=piece.ends_cycle,
    )


def _in_epochs(row: Row, count: int) -> Row:
    start = fraction(0, row.first_sample, count)
    end = fraction(*divmod(row.first_sample + row.samples, count), count)
    return replace(row, first_epoch=start, epochs=end - start)


def _until_none(portions: Iterator[Portion | None]) -> Iterator[Portion]:
    for portion in portions:
        if portion is None:
            return
        yield portion


def _read_plan(data: dict[str, Any]) -> Plan:
    amount_values = dict(data["data"])
    kind = {"examples": Examples, "tokens": Tokens}[amount_values.pop("kind")]
    names = [field.name for field in fields(Row)]
    rows = tuple(Row(**{name: row[name] for name in names}) for row in data["rows"])
    amount = kind(**amount_values)
    made = Plan(data["schedule"], data["base"], data["clock"], amount, rows, tuple(data["notes"]))
    if made.updates != data["updates"] or made.samples != data["samples"]:
        raise ValueError("totals that do not fit its rows")
    return made
