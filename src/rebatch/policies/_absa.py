"""Growth steered by curvature: ABSA (Yao, Gholami, Keutzer and Mahoney, 2018), and its cycle."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import NamedTuple

from rebatch._growth import grown
from rebatch.errors import InputError, positive_int, shown
from rebatch.policies._policy import Decision, Outlook, Policy, Seen

STAYS = "the largest size stays"


class _State(NamedTuple):
    """What the rule remembers, worked out again from the rows."""

    doublings: int = 0
    reference: float | None = None
    waited: int = 0
    reason: str = ""
    resets: bool = False


@dataclass(frozen=True, repr=False)
class absa(Policy):
    """Double the batch when the top Hessian eigenvalue has halved, or after ``duration`` epochs.

    The eigenvalue is compared with what it was at the last halving.  The size stops at ``ratio``
    times the base, and the rate grows with it unless ``scale_rate`` is false.  With ``cyclical``
    the same trigger at the largest size goes back to the base, and the rate stays as it is.

    >>> rule = absa(128, ratio=4)
    >>> seen = [Seen(128, 0, 1, 391, 0, 0, 2.3, eigenvalue=40.0)]
    >>> seen.append(Seen(128, 1, 1, 391, 0, 1, 2.0, eigenvalue=19.0))
    >>> rule.next(seen, Outlook(90, 2, lambda size: 50_000 // size, 50_000))[:2]
    (256, 'top eigenvalue 19 is at most half of 40')
    """

    _: KW_ONLY
    ratio: int = 128
    duration: int = 10
    scale_rate: bool | None = None
    """None: true, but not with ``cyclical``."""
    cyclical: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        positive_int("ratio", self.ratio, at_least=2)
        positive_int("duration", self.duration)
        if not isinstance(self.scale_rate, bool | None):
            raise InputError(f"scale_rate must be True or False, got {shown(self.scale_rate)}")
        if not isinstance(self.cyclical, bool):
            raise InputError(f"cyclical must be True or False, got {shown(self.cyclical)}")

    def next(self, seen: Sequence[Seen], outlook: Outlook) -> Decision:
        """Follow the rule over all rows and return what it says after the last."""
        state = _State()
        for row in seen:
            state = self._after(state, row, outlook)
        size = self._size(state.doublings, outlook)
        waited = f"{state.waited} of {self.duration} epochs at this size"
        return Decision(
            size,
            state.reason or (waited if self.wants_eigenvalue(size, outlook) else STAYS),
            ends_cycle=state.resets,
            rate_factor=size / self._size(0, outlook) if self._scales else 1.0,
            gauges=self._gauges(seen[-1], state),
        )

    def completes(self, seen: Sequence[Seen], outlook: Outlook) -> bool:
        """Tell whether the cycle would start anew now."""
        return self.next(seen, outlook).ends_cycle

    def wants_eigenvalue(self, batch_size: int, outlook: Outlook) -> bool:
        """Tell whether the size can still change: a largest one that stays needs no measurement."""
        if self.cyclical:
            return self.base < self._largest(outlook)
        return outlook.left > 0 and batch_size < self._largest(outlook)

    @property
    def _scales(self) -> bool:
        return not self.cyclical if self.scale_rate is None else self.scale_rate

    def _size(self, doublings: int, outlook: Outlook) -> int:
        return grown(self.base, 2, doublings, self._largest(outlook))

    def _largest(self, outlook: Outlook) -> int:
        return min(self.limit(outlook), self.base * self.ratio)

    def _after(self, state: _State, row: Seen, outlook: Outlook) -> _State:
        waited, value = state.waited + round(row.epochs), row.eigenvalue
        reason, reference = "", state.reference
        if value is not None and reference is None:
            reference = value
        elif value is not None and reference is not None and 2 * value <= reference:
            reason = f"top eigenvalue {value:.4g} is at most half of {reference:.4g}"
            reference = value
        if not reason and waited >= self.duration:
            reason = f"{waited} epochs at this size are over"
        if not reason:
            return _State(state.doublings, reference, waited)
        return self._triggered(state._replace(reference=reference, reason=reason), outlook)

    def _triggered(self, state: _State, outlook: Outlook) -> _State:
        at_top = self._size(state.doublings, outlook) == self._size(state.doublings + 1, outlook)
        if not at_top:
            return state._replace(doublings=state.doublings + 1, waited=0, resets=False)
        if self.cyclical and state.doublings:
            return _State(
                reason=f"{state.reason} at the largest size: back to the base", resets=True
            )
        return state._replace(waited=0, resets=False, reason=STAYS)

    def _gauges(self, row: Seen, state: _State) -> dict[str, float]:
        if row.eigenvalue is None:
            return {}
        found = {"eigenvalue": row.eigenvalue, "reference": state.reference}
        return {name: value for name, value in found.items() if value is not None}
