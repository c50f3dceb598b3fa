"""Batches of changing size in an ignite ``Engine``.

An engine fixes the length of an epoch when it starts, and takes remainders and multiples of it to
know where it is.  Here every epoch has its own length, for which that arithmetic holds.
"""

import math
from collections.abc import Iterator, Mapping
from typing import Any

from rebatch.data import Piece, PlannedBatchSampler
from rebatch.data._cut import count_pieces
from rebatch.data._order import tell_epoch
from rebatch.data._pieces import planned_pieces
from rebatch.errors import InputError

try:
    from ignite.engine import Engine, Events
except ImportError as error:
    raise ImportError("ignite is missing: pip install 'rebatch[ignite]'") from error


def attach(engine: Engine, sampler: PlannedBatchSampler) -> None:
    """Make every epoch of ``engine`` one pass over what ``sampler`` plans.

    Run the engine on a ``DataLoader`` with the sampler as its ``batch_sampler``.  While it runs,
    ``engine.state.batch_size`` is the size of the update and ``engine.state.piece`` what the batch
    is of it: where there are micro-batches or several processes, multiply the mean loss by
    ``piece.weight`` and update where ``piece.last``.

    The engine's own ``state_dict`` then holds the position, and its ``load_state_dict`` goes on
    there: inside an epoch too, with other micro-batches or another number of processes.
    """
    if engine.state.iteration:
        raise InputError("engine must be attached before its state is loaded, got it under way")
    feeding = _Feeding(engine, sampler)
    engine.add_event_handler(Events.STARTED, feeding.check)
    engine.add_event_handler(Events.EPOCH_STARTED, feeding.start_epoch)
    engine.add_event_handler(Events.GET_BATCH_COMPLETED, feeding.take_piece)
    engine.add_event_handler(Events.ITERATION_COMPLETED, feeding.count_update)
    engine.state_dict = feeding.state_dict  # type: ignore[method-assign,assignment]
    engine.load_state_dict = feeding.load_state_dict  # type: ignore[method-assign]


class EpochLength(int):
    """The length of one epoch among epochs of different lengths.

    ``iteration % length`` is the place within the epoch, ``iteration // length`` the number of
    epochs finished, and ``length * epochs`` the iterations of that many epochs.

    >>> length = EpochLength((24, 96, 48), epoch=1, before=24)
    >>> length, 30 % length, 120 // length, length * 3
    (96, 6, 2, 168)
    """

    lengths: tuple[int, ...]
    epoch: int
    before: int

    def __new__(cls, lengths: tuple[int, ...], *, epoch: int, before: int) -> "EpochLength":
        """Take the lengths of all epochs, which of them is meant, and what came before it."""
        made = super().__new__(cls, lengths[epoch])
        made.lengths, made.epoch, made.before = lengths, epoch, before
        return made

    def __mul__(self, epochs: Any) -> Any:
        return sum(self.lengths[:epochs]) if isinstance(epochs, int) else int(self) * epochs

    __rmul__ = __mul__

    def __rmod__(self, iteration: int) -> int:
        return (iteration - self.before) % int(self)

    def __rfloordiv__(self, iteration: int) -> int:
        return self.epoch + (iteration - self.before) // int(self)


class _Feeding:
    """What one engine is fed, and where it is."""

    def __init__(self, engine: Engine, sampler: PlannedBatchSampler) -> None:
        self.engine, self.sampler = engine, sampler
        self._save, self._load = engine.state_dict, engine.load_state_dict
        self._pieces: Iterator[Piece] = iter(())
        self._updates_done = 0

    def check(self) -> None:
        """Raise where the engine cannot be fed as planned."""
        sampler, state = self.sampler, self.engine.state
        epochs, loader = math.ceil(sampler.plan.epochs), state.dataloader
        if state.max_epochs is not None and state.max_epochs > epochs:
            raise InputError(
                f"max_epochs must be at most the {epochs} epochs planned, got {state.max_epochs}"
            )
        if getattr(loader, "batch_sampler", sampler) is not sampler:
            raise InputError("data must be a loader with the attached sampler, got another one")
        if not state.iteration and sampler.updates_before:
            raise InputError("position must be loaded by the engine, got it from the sampler alone")
        if hasattr(dataset := getattr(loader, "dataset", None), "__len__"):
            sampler.check(dataset)

    def start_epoch(self) -> None:
        """Go to the engine's epoch, and tell the engine how long it is."""
        state, epoch = self.engine.state, self.engine.state.epoch - 1
        if epoch != self.sampler.epoch:
            self._updates_done = 0
        self.sampler.set_epoch(epoch)
        tell_epoch(getattr(state.dataloader, "dataset", None), epoch)
        lengths = self._lengths()
        done = lengths[epoch] - len(self.sampler)
        state.epoch_length = EpochLength(lengths, epoch=epoch, before=state.iteration - done)
        self._pieces = planned_pieces(self.sampler)

    def take_piece(self) -> None:
        """Show what the batch at hand is of its update."""
        if (piece := next(self._pieces, None)) is None:
            raise InputError("data must give the batches planned, got more of them")
        state: Any = self.engine.state
        state.piece, state.batch_size = piece, piece.batch_size

    def count_update(self) -> None:
        """Count the update that is made."""
        state: Any = self.engine.state
        self._updates_done = state.piece.updates_done

    def state_dict(self) -> dict[str, Any]:
        """Return the state of the engine, with the position."""
        if self.engine.last_event_name == Events.ITERATION_COMPLETED:
            self.count_update()  # for a handler that was attached earlier
        position = self.sampler.state_dict(self._updates_done)
        saved = {**self._save(), "position": position}
        length = saved["epoch_length"]
        # A plain number: torch.load refuses any other with weights_only.
        return {**saved, "epoch_length": None if length is None else int(length)}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Go on from a state."""
        if "position" not in state_dict:
            raise InputError("state_dict must be of an engine with a plan, got one without")
        self.sampler.load_state_dict(state_dict["position"])
        self._updates_done = self.sampler.updates_before
        lengths, epoch = self._lengths(), self.sampler.epoch
        length = EpochLength(lengths, epoch=epoch, before=sum(lengths[:epoch]))
        iteration = length.before + lengths[epoch] - len(self.sampler)
        self._load({**state_dict, "epoch_length": length, "iteration": iteration})

    def _lengths(self) -> tuple[int, ...]:
        """Return the number of batches in every epoch."""
        plan, share = self.sampler.plan, self.sampler.share
        return tuple(count_pieces(plan, share, epoch) for epoch in range(math.ceil(plan.epochs)))
