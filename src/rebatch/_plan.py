"""From a schedule to a plan: the stairs are walked once, before training starts."""

import math
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

from rebatch._amount import Amount, Examples, Tokens
from rebatch._rows import Portion as Portion
from rebatch._rows import Row as Row
from rebatch._run import Place, Run
from rebatch._table import Plan as Plan
from rebatch._table import replay, too_large
from rebatch.errors import InputError, positive_int, shown
from rebatch.policies import Policy
from rebatch.schedules import Schedule, Stair, constant

ENDLESS = 2**62
"""Stands for the length of a stream that nobody has counted."""
MOST_ROWS = 1_000_000

Length = tuple[str, int]


def plan(
    schedule: Schedule | Policy,
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
    if isinstance(schedule, Policy):
        rule = "a schedule: a policy decides while it trains, `rebatch plan` shows an example"
        raise InputError(f"schedule must be {rule}, got {shown(schedule)}")
    if not isinstance(schedule, Schedule):
        rule = "a schedule, use rebatch.parse for text"
        raise InputError(f"schedule must be {rule}, got {shown(schedule)}")
    if not isinstance(drop_last, bool):
        raise InputError(f"drop_last must be True or False, got {shown(drop_last)}")
    length = _length(epochs, updates, samples)
    amount: Amount
    if tokens is not None or bptt is not None:
        amount = _tokens(tokens, bptt, examples, drop_last)
    elif examples is not None:
        amount = Examples(positive_int("examples", examples), drop_last)
    else:
        amount, length = _stream(schedule, length, drop_last)
    per_sample = _tokens_of_a_sample(schedule, amount, tokens_per_example)
    return _made(_Walk(schedule, amount, length, per_sample))


def baseline(made: Plan, batch_size: int | None = None) -> Plan:
    """Return the plan of the same length in epochs at one constant batch size.

    >>> from rebatch import cyclical
    >>> made = plan(cyclical(10, width=1), epochs=4, examples=100)
    >>> made.updates, baseline(made).updates
    (20, 40)
    """
    size = made.base if batch_size is None else positive_int("batch_size", batch_size)
    if (found := possible_baseline(made, size)) is None:
        raise too_large(size, made.amount)
    return found


def possible_baseline(made: Plan, size: int) -> Plan | None:
    """Return the `baseline` at a size, or None where that would make no update."""
    updates = Run(made.amount, size, Place()).until("epochs", made.end.epoch)
    updates += made.amount.updates(made.end.offset, size)
    if not updates:
        return None
    return _made(_Walk(constant(size), made.amount, ("updates", updates)))


def _length(epochs: int | None, updates: int | None, samples: int | None) -> Length:
    given = {"epochs": epochs, "updates": updates, "samples": samples}
    said = {name: value for name, value in given.items() if value is not None}
    if len(said) != 1:
        names = ", ".join(said) or "none"
        raise InputError(f"length must be one of epochs, updates and samples, got {names}")
    name, value = said.popitem()
    return name, positive_int(name, value)


def _tokens(tokens: int | None, bptt: int | None, examples: int | None, drop_last: bool) -> Tokens:
    if tokens is None or bptt is None:
        missing, given = ("tokens", "bptt") if tokens is None else ("bptt", "tokens")
        raise InputError(f"{missing} must be given with {given}, got none")
    if examples is not None:
        raise InputError("examples must not be given together with tokens, got both")
    if drop_last:
        raise InputError("drop_last must not be given with tokens, got True")
    return Tokens(positive_int("tokens", tokens, at_least=2), positive_int("bptt", bptt))


def _stream(schedule: Schedule, length: Length, drop_last: bool) -> tuple[Examples, Length]:
    """Return data that is read once: its length is that of training."""
    counted = schedule.clock == "epochs" and schedule.stair(0).end < math.inf
    if counted or length[0] == "epochs":
        raise InputError("examples must be given where epochs are counted, got none")
    if length[0] == "samples":
        return Examples(length[1], drop_last), ("epochs", 1)
    return Examples(ENDLESS, drop_last), length


def _tokens_of_a_sample(schedule: Schedule, amount: Amount, per_example: int | None) -> int:
    if schedule.clock != "tokens" or isinstance(amount, Tokens):
        return 1
    if per_example is None:
        rule = "given for a schedule that counts tokens"
        raise InputError(f"tokens_per_example must be {rule}, got none")
    return positive_int("tokens_per_example", per_example)


def _made(walk: "_Walk") -> Plan:
    schedule, amount = walk.schedule, walk.amount
    rows = tuple(islice(walk.rows(), MOST_ROWS + 1))
    if len(rows) > MOST_ROWS:
        raise InputError(f"schedule must change at most {MOST_ROWS} times, got {schedule}")
    if not walk.here.update:
        raise too_large(rows[0].batch_size, amount)
    if amount.count == ENDLESS:
        amount = replace(amount, count=positive_int("samples", walk.here.sample))
        rows = tuple(replay(amount, rows))
    notes = tuple(walk.notes(rows))
    return Plan(str(schedule), schedule.first_size, schedule.clock, amount, rows, notes)


class _Walk:
    """Goes along the stairs of a schedule, up to the length of training."""

    def __init__(
        self, schedule: Schedule, amount: Amount, length: Length, per_sample: int = 1
    ) -> None:
        self.schedule, self.amount, self.length = schedule, amount, length
        self.per_sample = per_sample
        self.here = Place()

    def rows(self) -> Iterator[Row]:
        """Yield the rows: stairs that follow each other unchanged become one.

        A row is always cut from its own start on: tokens read in columns are cut otherwise in
        two short stretches than in a long one.
        """
        start, number = self.here, 0
        last: Stair | None = None
        while self._show(self.length[0]) < self.length[1]:
            stair = self.schedule.stair(self._show(self.schedule.clock))
            if last and (last.ends_cycle or _key(last) != _key(stair)):
                yield self._row(start, last, number)
                start, number = self.here, number + 1 if last.cycle == stair.cycle else 0
            last = self._follow(stair, start)
        assert last
        yield self._row(start, last, number)

    def notes(self, rows: tuple[Row, ...]) -> Iterator[str]:
        """Yield what somebody who reads the plan should know."""
        end, clock = self.schedule.stair(0).end, self.schedule.clock
        if self._show(clock) < end < math.inf:
            why = f"the first step lasts {end} {clock}, longer than training"
            yield f"{why}: the batch size never changes"
        count = self.amount.count
        for size in sorted({row.batch_size for row in rows}):
            if not self.amount.updates(count, size):
                yield f"batch size {size} gives no update in an epoch of {count} samples"
            elif isinstance(self.amount, Examples) and size > count:
                yield f"batch size {size} is more than an epoch has: one update takes all {count}"

    def _show(self, clock: str) -> int:
        shows = {"epochs": self.here.epoch, "updates": self.here.update}
        per_sample = self.per_sample if clock == "tokens" else 1
        return shows.get(clock, self.here.sample * per_sample)

    def _follow(self, stair: Stair, start: Place) -> Stair:
        """Go to the end of the stair or of training; a cycle that is cut short does not end."""
        run = Run(self.amount, stair.batch_size, start)
        if run.each:
            wanted, allowed = self._until(run, stair.end), run.until(*self.length)
            self.here = run.place(int(min(wanted, allowed)))
        else:
            wanted, allowed = stair.end, self._epochs_allowed(stair)
            self.here = self.here._replace(epoch=int(min(wanted, allowed)))
        return stair if wanted <= allowed else stair._replace(ends_cycle=False)

    def _until(self, run: Run, end: float) -> float:
        if end == math.inf:
            return end
        return run.until(self.schedule.clock, -(-int(end) // self.per_sample))

    def _epochs_allowed(self, stair: Stair) -> int:
        """Return up to where epochs may be passed over that a batch is too large for."""
        if self.schedule.clock != "epochs" or self.length[0] != "epochs":
            raise too_large(stair.batch_size, self.amount)
        return self.length[1]

    def _row(self, start: Place, stair: Stair, number: int) -> Row:
        return Row.between(
            start,
            self.here,
            self.amount.count,
            batch_size=stair.batch_size,
            cycle=stair.cycle,
            step=number,
            ends_cycle=stair.ends_cycle,
        )


def _key(stair: Stair) -> tuple[int, int, int]:
    return stair.batch_size, stair.cycle, stair.step
