"""Where in a plan a feed is: an epoch, and how much of it is done."""

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from rebatch._plan import Plan, Portion
from rebatch.errors import InputError, plain, shown


class Feed:
    """What every feed of a plan shares: epochs, a true length, and a position to save.

    Iterating starts at the loaded position, or else at the beginning of the epoch, and moves
    neither: only `set_epoch` and `load_state_dict` do.
    """

    def __init__(self, plan: Plan) -> None:
        if not isinstance(plan, Plan):
            raise InputError(f"plan must be one that rebatch.plan made, got {shown(plan)}")
        self.plan = plan
        self.epoch = 0
        self._first = 0
        """Updates of the epoch that were done when it was taken up."""
        self._drawn = 0
        self._starts = 0

    def __len__(self) -> int:
        """Return the updates of the epoch that are still to come."""
        return self.plan.updates_in(self.epoch) - self._first

    @property
    def updates_before(self) -> int:
        """Updates of the epoch that lie before the place where an iteration starts."""
        return self._first

    def set_epoch(self, epoch: int) -> None:
        """Go to an epoch; the one that is under way goes on where it was loaded."""
        self.plan.portions(epoch)
        self._starts = 0
        if epoch != self.epoch:
            self.epoch, self._first, self._drawn = int(epoch), 0, 0

    def follow(self, plan: Plan) -> None:
        """Go on with a plan that has grown: what was planned until now stays as it is."""
        until_now = replace(plan, rows=plan.rows[: len(self.plan.rows)])
        if until_now.fingerprint != self.plan.fingerprint:
            raise InputError(f"plan must go on from {self.plan}, got {plan}")
        self.plan = plan

    def state_dict(self, updates_done: int | None = None) -> dict[str, Any]:
        """Return the position as small JSON-ready values.

        ``updates_done`` is what the loop has finished of this epoch, counted from the epoch's
        start whether before a load or since.  Without it the state is what was drawn, which the
        workers of a loader do ahead of the loop.
        """
        asked = self._drawn if updates_done is None else updates_done
        done = self._checked_done("updates_done", self.epoch, asked)
        before = self.plan.first_update_of(self.epoch)
        samples = self.plan.sample_at(before + done) - self.plan.sample_at(before)
        place = {"epoch": self.epoch, "updates_done": done, "samples": samples}
        return {"version": 1, **self._identity(), **place}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on with the epoch where the state was taken.

        Ranks, micro-batches and workers may be other than they were: the samples still to come
        are the same.
        """
        if not isinstance(state, Mapping):
            raise InputError(f"state must be one that state_dict gave, got {shown(state)}")
        for name, own in {"version": 1, **self._identity()}.items():
            if state.get(name) != own:
                raise InputError(f"state must be of {name} {own!r}, got {state.get(name)!r}")
        epoch, done = state.get("epoch"), state.get("updates_done")
        if not isinstance(epoch, int) or not isinstance(done, int):
            raise InputError(f"state must be one that state_dict gave, got {shown(dict(state))}")
        self._checked_done("state", epoch, done)
        self.epoch, self._first, self._drawn, self._starts = epoch, done, done, 0

    def _identity(self) -> dict[str, Any]:
        """Return what must be the same for a state to fit."""
        return {"plan": self.plan.fingerprint}

    def _checked_done(self, name: str, epoch: int, done: object) -> int:
        limit, done = self.plan.updates_in(epoch), plain(done)
        if isinstance(done, bool) or not isinstance(done, int) or not 0 <= done <= limit:
            rule = f"from 0 to the {limit} updates of epoch {epoch}"
            raise InputError(f"{name} must be {rule}, got {shown(done)}")
        return done

    def _start(self) -> None:
        """Take note that an iteration starts, and say so where the epoch seems forgotten."""
        self._drawn = self._first
        self._starts += 1
        # To look at an epoch before training on it is normal; a third time is an oversight.
        if self._starts == 3 and self.plan.epochs > 1:
            warnings.warn(
                f"epoch {self.epoch} starts for the third time: call set_epoch before each "
                "epoch, or the batch size never changes",
                stacklevel=3,
            )

    def _remaining(self) -> Iterator[tuple[Portion, range]]:
        """Yield the parts of the epoch with the numbers of the updates still to make in them."""
        self._start()
        start = self.plan.first_update_of(self.epoch) + self._first
        for portion in self.plan.portions(self.epoch):
            numbers = range(max(0, start - portion.first_update), portion.updates)
            if numbers:
                yield portion, numbers
