"""Batches of changing size from torchdata's ``StatefulDataLoader``."""

from typing import Any

from rebatch.data import PlannedBatchSampler
from rebatch.errors import InputError

try:
    from torchdata.stateful_dataloader import (  # type: ignore[import-untyped]
        Stateful,
        StatefulDataLoader,
    )
except ImportError as error:
    raise ImportError("torchdata is missing: pip install 'rebatch[torchdata]'") from error


class PlannedDataLoader(StatefulDataLoader):  # type: ignore[misc]
    """A ``StatefulDataLoader`` that gives what ``sampler`` plans, and knows the epoch it is in.

    Its state holds the position in the plan by what was delivered, whatever the workers have drawn
    ahead; with micro-batches, as of the last update that was delivered whole.  Once it is loaded
    ``sampler.epoch`` is the epoch to go on with, and the next iteration gives the rest of it;
    ``sampler.set_epoch`` to another epoch starts that one.

    The number of workers may change, unless the data set has a state of its own to restore.
    """

    next_iter_state: dict[str, Any] | None

    def __init__(self, dataset: Any, sampler: PlannedBatchSampler, **options: Any) -> None:
        """Take torchdata's own ``options``, but those that make batches."""
        if (every := options.get("snapshot_every_n_steps", 1)) != 1:
            raise InputError(f"snapshot_every_n_steps must be 1 with a plan, got {every}")
        sampler.check(dataset)
        self.planned = sampler
        super().__init__(dataset, batch_sampler=sampler, **options)

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go back to a position at once: torchdata would at the next iteration."""
        self.planned.load_state_dict(_position(state_dict))
        super().load_state_dict(state_dict if isinstance(self.dataset, Stateful) else {})

    def __iter__(self) -> Any:
        """Give the batches still to come in the sampler's epoch."""
        waiting = self.next_iter_state
        if waiting is not None and _position(waiting)["epoch"] != self.planned.epoch:
            self.next_iter_state = None  # it would take the sampler back to its own epoch
        return super().__iter__()


def _position(state: dict[str, Any]) -> dict[str, Any]:
    """Return the sampler's part of a loader's state, which with workers lies deeper."""
    main = state.get("_snapshot", {}).get("_main_snapshot", state)
    position: dict[str, Any] | None = main.get("_index_sampler_state")
    if position is None:
        raise InputError("state_dict must be of a loader with a plan, got one without")
    return position
