"""Growth when the loss stops falling."""

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar, NamedTuple

from rebatch._growth import grown
from rebatch.errors import InputError, one_of, positive_int, positive_number
from rebatch.policies._policy import Decision, Outlook, Policy, Seen


class _State(NamedTuple):
    """What the rule remembers, worked out again from the rows."""

    growths: int = 0
    best: float = math.inf
    bad: int = 0
    resting: int = 0
    """Epochs that are still left out of the count."""
    grew: bool = False


@dataclass(frozen=True, repr=False)
class plateau(Policy):
    """Multiply the size by ``factor`` after more than ``patience`` epochs without a better loss.

    Better is below ``best * (1 - threshold)``, or with ``absolute`` below ``best - threshold``.
    For ``cooldown`` epochs after a growth nothing is counted.  The loss is that of training, or
    with ``watch="validation"`` the figure that selects.

    >>> losses = [2.0, 1.5, 1.5, 1.5]
    >>> seen = [Seen(10, epoch, 1, 10, 0, epoch, loss) for epoch, loss in enumerate(losses)]
    >>> plateau(10, patience=1).next(seen, Outlook(9, 4, lambda size: 100 // size, 100))[:2]
    (20, 'train_loss 1.5: no better one for more than 1 epochs')
    """

    _: KW_ONLY
    factor: float = 2
    patience: int = 2
    threshold: float = 1e-3
    absolute: bool = False
    cooldown: int = 0
    watch: str = "train_loss"
    WATCHED: ClassVar[tuple[str, ...]] = ("train_loss", "validation")

    def __post_init__(self) -> None:
        super().__post_init__()
        if positive_number("factor", self.factor) <= 1:
            raise InputError(f"factor must be above 1, got {self.factor}")
        positive_int("patience", self.patience, at_least=0)
        positive_number("threshold", self.threshold, zero=True)
        if self.threshold >= 1 and not self.absolute:  # no loss would ever be better
            raise InputError(f"threshold must be below 1 unless absolute, got {self.threshold}")
        if not isinstance(self.absolute, bool):
            raise InputError(f"absolute must be True or False, got {self.absolute!r}")
        positive_int("cooldown", self.cooldown, at_least=0)
        one_of("watch", self.watch, self.WATCHED)

    @property
    def needs_validation(self) -> bool:
        """Whether validation is what it watches."""
        return self.watch == "validation"

    def next(self, seen: Sequence[Seen], outlook: Outlook) -> Decision:
        """Follow the rule over all rows and return what it says after the last."""
        state, limit = _State(), self.limit(outlook)
        for row in seen:
            state = self._after(state, self._figure(row))
        size = grown(self.base, self.factor, state.growths, limit)
        return Decision(size, self._reason(seen, state, size), gauges=self._gauges(seen[-1], state))

    def _after(self, state: _State, figure: float) -> _State:
        better = figure < self._mark(state.best)
        best = figure if better else state.best
        if state.resting:
            return _State(state.growths, best, 0, state.resting - 1)
        bad = 0 if better else state.bad + 1
        if bad <= self.patience:
            return _State(state.growths, best, bad)
        return _State(state.growths + 1, best, 0, self.cooldown, grew=True)

    def _mark(self, best: float) -> float:
        """Return what a figure has to be below to count as better."""
        return best - self.threshold if self.absolute else best * (1 - self.threshold)

    def _figure(self, row: Seen) -> float:
        figure: float | None = getattr(row, self.watch)
        if figure is None:
            rule = "train_loss where there is no validation data"
            raise InputError(f"watch must be {rule}, got {self.watch!r}")
        return figure

    def _reason(self, seen: Sequence[Seen], state: _State, size: int) -> str:
        figure = f"{self.watch} {self._figure(seen[-1]):.4g}"
        if state.grew:
            full = f", but {size} is the limit" if size == seen[-1].batch_size else ""
            return f"{figure}: no better one for more than {self.patience} epochs{full}"
        if state.resting:
            return f"{figure} does not count so soon after a growth"
        if state.bad:
            return f"{figure} is no better than {state.best:.4g}, {state.bad} of {self.patience}"
        return f"{figure} is the best so far"

    def _gauges(self, row: Seen, state: _State) -> dict[str, float]:
        return {self.watch: self._figure(row), "best": state.best, "bad_epochs": state.bad}
