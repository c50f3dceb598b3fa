"""Where in a plan a feed is: an epoch, and how many of its updates are done."""

from collections.abc import Iterator
from typing import Any

from rebatch._plan import Plan, Portion
from rebatch.errors import InputError


class Feed:
    """What every feed of a plan shares: epochs, a true length, and a position to save."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.epoch = 0
        self._first = 0
        """Updates of the epoch that were done when it was taken up."""
        self._drawn = 0

    def __len__(self) -> int:
        """Return the updates of the epoch that are still to come."""
        return self.plan.updates_in(self.epoch) - self._first

    def set_epoch(self, epoch: int) -> None:
        """Go to an epoch; the one that is under way goes on where it was."""
        self.plan.portions(epoch)
        if epoch != self.epoch:
            self.epoch, self._first, self._drawn = epoch, 0, 0

    def state_dict(self, updates_done: int | None = None) -> dict[str, Any]:
        """Return the position: the updates of this epoch that are done, or else were drawn."""
        done = self._drawn if updates_done is None else updates_done
        self._check_done("updates_done", self.epoch, done)
        return {**self._identity(), "epoch": self.epoch, "updates_done": done}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on with the epoch where the state was taken."""
        for name, own in self._identity().items():
            if state.get(name) != own:
                raise InputError(f"state must be of {name} {own!r}, got {state.get(name)!r}")
        epoch, done = state["epoch"], state["updates_done"]
        self._check_done("state", epoch, done)
        self.epoch, self._first, self._drawn = epoch, done, done

    def _identity(self) -> dict[str, Any]:
        """Return what must be the same for a state to fit."""
        return {"plan": self.plan.fingerprint}

    def _check_done(self, name: str, epoch: int, done: int) -> None:
        limit = self.plan.updates_in(epoch)
        if not 0 <= done <= limit:
            raise InputError(
                f"{name} must be from 0 to the {limit} updates of epoch {epoch}, got {done}"
            )

    def _remaining(self) -> Iterator[tuple[Portion, range]]:
        """Yield the parts of the epoch with the numbers of the updates still to make in them."""
        self._drawn = self._first
        start = self.plan.first_update_of(self.epoch) + self._first
        for portion in self.plan.portions(self.epoch):
            numbers = range(max(0, start - portion.first_update), portion.updates)
            if numbers:
                yield portion, numbers
