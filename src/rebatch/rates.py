"""Learning-rate rules: frozen values that give a rate for every position of training.

A position is counted in epochs from 0, fractions allowed.  A rule prints as the call that makes
it and `parse_rate` reads that text back, so a record of a run can hold it.
"""

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass

from rebatch._call import Makers, Value, evaluate
from rebatch.errors import (
    InputError,
    hold_plain,
    one_of,
    positive_int,
    positive_number,
    rising,
    shown,
)
from rebatch.schedules import Schedule, milestones, parse, steps

COUPLINGS = ("none", "linear", "sqrt")


@dataclass(frozen=True, repr=False)
class Rate(Value):
    """A learning rate for every position of training."""

    def __call__(self, position: float) -> float:
        """Return the rate at ``position``, in epochs from 0."""
        return float(self._at(positive_number("position", position, zero=True)))

    def _at(self, position: float) -> float:
        raise NotImplementedError


@dataclass(frozen=True, repr=False)
class constant(Rate):
    """Keep the rate as it is.

    >>> constant(0.1)(1000)
    0.1
    """

    rate: float

    def __post_init__(self) -> None:
        hold_plain(self)
        positive_number("rate", self.rate)

    def _at(self, position: float) -> float:
        return self.rate


@dataclass(frozen=True, repr=False)
class divided(Rate):
    """Divide the rate by ``by`` when each of the epochs ``at`` begins.

    >>> rule = divided(0.1, at=(30, 60), by=5)
    >>> [rule(epoch) for epoch in (0, 29.9, 30, 60)]
    [0.1, 0.1, 0.02, 0.004]
    """

    rate: float
    _: KW_ONLY
    at: tuple[int, ...]
    by: float

    def __post_init__(self) -> None:
        hold_plain(self)
        positive_number("rate", self.rate)
        object.__setattr__(self, "at", rising("at", self.at))
        positive_number("by", self.by)

    def _at(self, position: float) -> float:
        return self.rate / _power(self.by, bisect_right(self.at, position))


@dataclass(frozen=True, repr=False)
class divided_every(Rate):
    """Divide the rate by ``by`` every epoch after the first ``after`` ones.

    With the epoch e counted from 1 the rate is ``rate / by**max(0, e - after)``.

    >>> rule = divided_every(20, after=6, by=1.25)
    >>> [rule(epoch) for epoch in (0, 5, 6, 7)]
    [20.0, 20.0, 16.0, 12.8]
    """

    rate: float
    _: KW_ONLY
    after: int
    by: float

    def __post_init__(self) -> None:
        hold_plain(self)
        positive_number("rate", self.rate)
        positive_int("after", self.after, at_least=0)
        positive_number("by", self.by)

    def _at(self, position: float) -> float:
        return self.rate / _power(self.by, max(0, math.floor(position) + 1 - self.after))


@dataclass(frozen=True, repr=False)
class cosine(Rate):
    """Fall from ``rate`` to ``low`` along half a cosine in ``length`` epochs, then start over.

    The cycle of snapshot ensembles (Huang et al., 2017).

    >>> rule = cosine(0.2, length=30)
    >>> [round(rule(epoch), 9) for epoch in (0, 15, 22.5, 30)]
    [0.2, 0.1, 0.029289322, 0.2]
    """

    rate: float
    _: KW_ONLY
    length: float
    low: float = 0

    def __post_init__(self) -> None:
        hold_plain(self)
        positive_number("rate", self.rate)
        positive_number("length", self.length)
        if positive_number("low", self.low, zero=True) > self.rate:
            raise InputError(f"low must be at most rate, which is {self.rate}, got {self.low}")

    def _at(self, position: float) -> float:
        share = position % self.length / self.length
        return self.low + (self.rate - self.low) * (1 + math.cos(math.pi * share)) / 2


@dataclass(frozen=True, repr=False)
class triangular(Rate):
    """Swing between ``low`` and ``high`` in straight lines of ``width`` epochs (Smith, 2017).

    >>> rule = triangular(0.25, 0.75, width=2)
    >>> [rule(epoch) for epoch in (0, 1, 2, 3.5, 4)]
    [0.25, 0.5, 0.75, 0.375, 0.25]
    """

    low: float
    high: float
    _: KW_ONLY
    width: float

    def __post_init__(self) -> None:
        hold_plain(self)
        positive_number("low", self.low, zero=True)
        positive_number("high", self.high)
        positive_number("width", self.width)

    def _at(self, position: float) -> float:
        height = 1 - abs(position / self.width % 2 - 1)
        return self.low + (self.high - self.low) * height


@dataclass(frozen=True, repr=False)
class adabatch(Rate):
    """The rate that goes with `rebatch.adabatch` (Devarakonda et al., 2017).

    Every ``every`` epochs the batch grows by ``factor`` and the rate is multiplied by
    ``decay * factor``, so that the rate per sample falls by ``decay``.

    >>> rule = adabatch(0.5)
    >>> [rule(epoch) for epoch in (0, 20, 40)]
    [0.5, 0.375, 0.28125]
    """

    rate: float
    _: KW_ONLY
    every: int = 20
    decay: float = 0.375
    factor: float = 2

    def __post_init__(self) -> None:
        hold_plain(self)
        positive_number("rate", self.rate)
        positive_int("every", self.every)
        positive_number("decay", self.decay)
        positive_number("factor", self.factor)

    def _at(self, position: float) -> float:
        return self.rate * _power(self.decay * self.factor, int(position // self.every))


@dataclass(frozen=True, repr=False)
class plateau(Rate):
    """Divide the rate by ``by`` after every epoch whose figure is no better than all before.

    The rate depends on how the run went, so a position past 0 does not tell it: ask `after`.

    >>> rule = plateau(20, by=4)
    >>> [rule.after(figures) for figures in ([], [90, 85], [90, 85, 86], [90, 85, 86, 85])]
    [20.0, 20.0, 5.0, 1.25]
    """

    rate: float
    _: KW_ONLY
    by: float = 4
    falling: bool = True
    """Whether a lower figure is the better one."""

    def __post_init__(self) -> None:
        hold_plain(self)
        positive_number("rate", self.rate)
        positive_number("by", self.by)

    def after(self, figures: Sequence[float]) -> float:
        """Return the rate after epochs that gave these validation figures; NaN is no better."""
        best, stalls = math.inf, 0
        for figure in figures:
            value = figure if self.falling else -figure
            stalls += not value < best
            best = min(best, value)
        return self.rate / _power(self.by, stalls)

    def _at(self, position: float) -> float:
        if position:
            raise InputError(f"position must be 0 with plateau, use after, got {position}")
        return self.rate


@dataclass(frozen=True, repr=False)
class _Coupled(Rate):
    """A rule that looks at a schedule of batch sizes, which has to count epochs as well."""

    rule: Rate
    schedule: Schedule

    def __post_init__(self) -> None:
        if not isinstance(self.rule, Rate):
            raise InputError(f"rule must be a learning-rate rule, got {shown(self.rule)}")
        if isinstance(self.rule, plateau):
            raise InputError(f"rule must be one that the position tells, got {self.rule}")
        if not isinstance(self.schedule, Schedule):
            raise InputError(f"schedule must be a schedule, got {shown(self.schedule)}")
        if self.schedule.clock != "epochs":
            raise InputError(f"schedule must count epochs, got the clock {self.schedule.clock!r}")

    def _multiplier(self, position: float) -> float:
        return self.schedule(position) / self.schedule.first_size

    def _text(self, argument: object) -> str:
        # Shapes of schedules and of rates share names: the inner text says which is meant.
        text = repr(argument)
        return f"parse({text!r})" if isinstance(argument, Schedule) else text


@dataclass(frozen=True, repr=False)
class coupled(_Coupled):
    """Scale the rate with the batch size: not at all, linearly or with its square root.

    >>> from rebatch import cyclical
    >>> rule = coupled(constant(0.1), cyclical(10, width=1, growth=4), how="sqrt")
    >>> [rule(epoch) for epoch in range(5)]
    [0.1, 0.2, 0.4, 0.8, 0.1]
    """

    _: KW_ONLY
    how: str = "none"

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of("how", self.how, COUPLINGS)

    def _at(self, position: float) -> float:
        multiplier = self._multiplier(position)
        scale = {"none": 1.0, "linear": multiplier, "sqrt": math.sqrt(multiplier)}[self.how]
        return self.rule(position) * scale


@dataclass(frozen=True, repr=False)
class equal_noise(_Coupled):
    """Divide the rate where ``schedule`` would multiply the batch, which stays at its base.

    Rate over batch size, hence the noise scale, is at every epoch what the schedule would give:
    the control that tells cycles of noise from larger batches and fewer updates.

    >>> from rebatch import cyclical
    >>> rule = equal_noise(constant(0.8), cyclical(10, width=1))
    >>> [rule(epoch) for epoch in range(5)]
    [0.8, 0.4, 0.2, 0.1, 0.8]
    """

    def _at(self, position: float) -> float:
        return self.rule(position) / self._multiplier(position)


@dataclass(frozen=True, repr=False)
class beyond_largest(_Coupled):
    """Divide the rate where `milestones` or `steps` can multiply the batch no further.

    With B₀ the base and q the factor, after j multiplications the rate is divided by
    ``max(1, B₀ * q**j / largest)`` (Smith, Kindermans and Le, 2017).

    >>> from rebatch import milestones
    >>> schedule = milestones(128, at=(60, 120, 160), factor=5, largest=3200)
    >>> rule = beyond_largest(constant(0.1), schedule)
    >>> [rule(epoch) for epoch in (0, 60, 120, 160)]
    [0.1, 0.1, 0.1, 0.02]
    """

    schedule: milestones | steps

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.schedule, milestones | steps):
            raise InputError(f"schedule must be milestones or steps, got {shown(self.schedule)}")

    def _at(self, position: float) -> float:
        schedule, rate = self.schedule, self.rule(position)
        if schedule.largest is None:
            return rate
        wanted = schedule.base * _power(schedule.factor, schedule.stair(position).step)
        return rate / max(1.0, wanted / schedule.largest)


_RULES = (constant, divided, divided_every, cosine, triangular, adabatch, plateau)
_COUPLED = (coupled, equal_noise, beyond_largest)
_MAKERS: Makers = {**{rule.__name__: rule for rule in (*_RULES, *_COUPLED)}, "parse": parse}


def parse_rate(text: str) -> Rate:
    """Read a rule from its text; a number alone is a constant rate.

    >>> parse_rate("coupled(constant(0.1), parse('cyclical(10, width=5)'), how='linear')")(5)
    0.2
    >>> parse_rate("0.1")
    constant(0.1)
    """
    what = "rate must be a number or a call such as divided(0.1, at=(30, 60), by=5)"
    if not isinstance(text, str):
        raise InputError(f"{what}, got {shown(text)}")
    made = evaluate(text.strip(), _MAKERS, what=what)
    if isinstance(made, Rate):
        return made
    if isinstance(made, int | float):
        return constant(made)
    raise InputError(f"{what}, got {shown(text)}")


def _power(base: float, exponent: int) -> float:
    try:
        return float(base) ** exponent
    except OverflowError:
        return math.inf
