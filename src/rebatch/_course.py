"""A course: a plan that a policy makes while it trains, and how each of its rows came to be.

It is written down as it grows, so that what was decided once can be trained again as it is.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from typing import Any

from rebatch._amount import Amount, Examples
from rebatch._rows import Row
from rebatch._run import Place, Run
from rebatch._table import Plan, too_large
from rebatch.errors import InputError, flaw, positive_int, positive_number
from rebatch.policies import Decision, Outlook, Policy, Seen

MEASURED = 8
"""How often the gradient noise is measured in a row that is too short for more."""

SUMS = ("epochs", "updates", "samples")


@dataclass(frozen=True)
class Course:
    """The rows so far, the decision that each was made by, and the epochs there are in all."""

    plan: Plan
    epochs: int
    decisions: tuple[Decision, ...]
    measure_every: int | None = None
    """Every how many updates of a row the gradient noise is measured, if at all."""

    @classmethod
    def begun(cls, policy: Policy, amount: Amount, epochs: int) -> "Course":
        """Return the first row of a policy.

        >>> from rebatch.policies import auto
        >>> Course.begun(auto(10), Examples(100), epochs=3).plan
        <Plan of AUTO from 10: 1 epochs, 1 rows, 10 updates>
        """
        first = policy.first(_outlook(amount, epochs, 0))
        end = _first_end(amount, first.batch_size, min(first.epochs, epochs))
        row = Row.between(
            Place(),
            end,
            amount.count,
            batch_size=first.batch_size,
            cycle=0,
            step=0,
            ends_cycle=False,
        )
        plan = Plan(str(policy), policy.base, "epochs", amount, (row,))
        return cls(plan, epochs, (first,), policy.measure_every if policy.needs_noise else None)

    @property
    def base(self) -> int:
        """The batch size that the policy was given."""
        return self.plan.base

    @property
    def is_whole(self) -> bool:
        """Whether the budget is planned to its end."""
        return self.plan.end.epoch >= self.epochs

    @property
    def outlook(self) -> Outlook:
        """What lies ahead where the rows so far end."""
        return _outlook(self.plan.amount, self.epochs, self.plan.end.epoch)

    @property
    def reason(self) -> str:
        """Why the last row is as it is."""
        return self.decisions[-1].reason

    @cached_property
    def fingerprint(self) -> str:
        """A short digest of all that decides the training: rows, rates and measurements."""
        factors = [decision.rate_factor for decision in self.decisions]
        ends = [row.ends_cycle for row in self.plan.rows]
        text = repr((self.plan.fingerprint, factors, ends, self.measure_every))
        return hashlib.sha256(text.encode()).hexdigest()[:8]

    def decided(self, decision: Decision) -> "Course":
        """Return the course with the row of a decision, cut at the end of the budget."""
        plan = self._plan_so_far(ends_cycle=decision.ends_cycle)
        epochs = min(decision.epochs, self.epochs - plan.end.epoch)
        row, last = plan.next_row(decision.batch_size, epochs=epochs), plan.rows[-1]
        if row.batch_size == last.batch_size and not last.ends_cycle:
            row = replace(row, step=last.step)  # the same stair goes on
        return replace(self, plan=plan.extend(row), decisions=(*self.decisions, decision))

    def closed(self) -> "Course":
        """Return the course with its last row as the end of a cycle."""
        return replace(self, plan=self._plan_so_far(ends_cycle=True))

    def seen(self, train_loss: float, *measured: float | None) -> Seen:
        """Return the last row as one that is finished, with what was measured in it."""
        row = self.plan.rows[-1]
        place = row.first_epoch, row.epochs, row.updates, row.cycle, row.step
        return Seen(row.batch_size, *place, train_loss, *measured)

    def rate_factor(self, update: int) -> float:
        """Return what the learning rate of an update is multiplied by."""
        return self.decisions[self.plan.row_at(update)].rate_factor

    def measures(self, update: int) -> bool:
        """Tell whether an update measures the gradient noise."""
        if self.measure_every is None:
            return False
        row = self.plan.rows[self.plan.row_at(update)]
        every = max(1, min(self.measure_every, row.updates // MEASURED))
        return (update - row.first_update + 1) % every == 0

    def to_dict(self) -> dict[str, Any]:
        """Return the course as JSON-ready values."""
        decisions = [
            {
                "rate_factor": made.rate_factor,
                "reason": made.reason,
                "gauges": dict(made.gauges),
            }
            for made in self.decisions
        ]
        return {
            "epochs": self.epochs,
            "measure_every": self.measure_every,
            "plan": self.plan.to_dict(),
            "decisions": decisions,
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "Course":
        """Read what `to_dict` gave; what does not fit together is refused."""
        try:
            plan, every = Plan.from_json(json.dumps(values["plan"])), values["measure_every"]
            told = zip(plan.rows, values["decisions"], strict=True)
            decisions = tuple(_decision(row, made) for row, made in told)
            epochs = positive_int("epochs", values["epochs"])
            if every is not None:
                positive_int("measure_every", every)
        except InputError:
            raise
        except (LookupError, TypeError, ValueError, ArithmeticError, RecursionError) as error:
            raise InputError(f"plan must be one that a run recorded, got {flaw(error)}") from None
        return cls(plan, epochs, decisions, every)

    def _plan_so_far(self, *, ends_cycle: bool) -> Plan:
        *before, last = self.plan.rows
        return replace(self.plan, rows=(*before, replace(last, ends_cycle=ends_cycle)))


def expected(policy: Policy, amount: Amount, epochs: int) -> Plan:
    """Return the plan that a policy would make if the loss fell and nothing else could be measured.

    Nobody knows it better before training: it is an estimate, and its note says so.
    """
    course = Course.begun(policy, amount, epochs)
    seen: list[Seen] = []
    while True:
        loss = 1 / (1 + len(seen))
        seen.append(course.seen(loss, None, None, loss if policy.needs_validation else None))
        if course.is_whole:
            break
        course = course.decided(policy.next(seen, course.outlook))
    if policy.completes(seen, course.outlook):
        course = course.closed()
    note = f"{policy} decides while it trains: rows and totals are an estimate, as if the loss fell"
    rows = tuple(_stairs(course.plan))
    return replace(course.plan, rows=rows, notes=(f"{note} and nothing else could be measured",))


def _stairs(plan: Plan) -> Iterator[Row]:
    """Yield the rows of a plan of whole epochs, those of a stair as one."""
    for _, alike in groupby(plan.rows, key=lambda row: (row.cycle, row.step)):
        first, *others = alike
        for row in others:
            sums = {name: getattr(first, name) + getattr(row, name) for name in SUMS}
            first = replace(first, ends_cycle=row.ends_cycle, **sums)
        yield first


def _outlook(amount: Amount, epochs: int, done: int) -> Outlook:
    largest = amount.count if isinstance(amount, Examples) else amount.count // 2
    return Outlook(epochs, done, lambda size: amount.updates(amount.count, size), largest)


def _first_end(amount: Amount, batch_size: int, epochs: int) -> Place:
    run = Run(amount, batch_size, Place())
    if not run.each:
        raise too_large(batch_size, amount)
    return run.place(run.until("epochs", epochs))


def _decision(row: Row, values: Mapping[str, Any]) -> Decision:
    factor = positive_number("rate_factor", values["rate_factor"])
    epochs = round(row.epochs)
    reason, gauges = str(values["reason"]), dict(values["gauges"])
    return Decision(row.batch_size, reason, epochs, rate_factor=factor, gauges=gauges)
