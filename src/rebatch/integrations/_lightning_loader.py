"""The loader that Lightning trains on: as long as the epoch at hand, and late to start."""

from collections.abc import Callable, Iterator, Mapping, Sized
from typing import Any, Protocol

import torch
from torch.utils.data import DataLoader

from rebatch.data import Piece, PlannedBatchSampler, pieces
from rebatch.data._order import epoch_generator


class Feeding(Protocol):
    """What the loader needs of its schedule."""

    sampler: PlannedBatchSampler
    tokens: Callable[[Any], int] | None

    def length(self) -> int:
        """Return the number of batches in the epoch that is trained or about to be."""

    def set_epoch(self, epoch: int) -> None:
        """Go to an epoch."""

    def start(self) -> None:
        """Note that batches are asked for."""

    def take(self, piece: Piece) -> None:
        """Note what the next batch is of its update."""


class PlannedLoader:
    """Batches of the plan for Lightning: made by ``BatchSizeSchedule.loader``.

    It is no ``DataLoader``, or Lightning would build another one with a sampler of its own.
    """

    def __init__(self, schedule: Feeding, dataset: Sized, **options: Any) -> None:
        schedule.sampler.check(dataset)
        self.schedule, self.dataset = schedule, dataset
        # Its own, or every epoch would take a number from the one that dropout draws from.
        self._generator = torch.Generator()
        options.setdefault("generator", self._generator)
        self._loader: DataLoader[Any] = DataLoader(
            dataset,  # type: ignore[arg-type]
            batch_sampler=schedule.sampler,
            **options,
        )

    @property
    def sampler(self) -> Feeding:
        """Where Lightning looks for the ``set_epoch`` that it calls before an epoch."""
        return self.schedule

    @property
    def worker_init_fn(self) -> Any:
        """What ``seed_everything(workers=True)`` fills in."""
        return self._loader.worker_init_fn

    @worker_init_fn.setter
    def worker_init_fn(self, function: Any) -> None:
        self._loader.worker_init_fn = function

    def __len__(self) -> int:
        """Return the batches of the whole epoch: Lightning counts those before a resume itself."""
        return self.schedule.length()

    def __iter__(self) -> Iterator[Any]:
        """Give the batches still to come in the epoch.

        Lightning makes an iterator before it knows the epoch, and sometimes two: a generator
        starts nothing before its first batch is asked for.
        """
        schedule, sampler = self.schedule, self.schedule.sampler
        schedule.start()
        if callable(set_epoch := getattr(self.dataset, "set_epoch", None)):
            set_epoch(sampler.epoch)
        purpose = f"workers of rank {sampler.share.rank}"
        seed = epoch_generator(sampler.seed, sampler.epoch, purpose).initial_seed()
        self._generator.manual_seed(seed)
        for piece, batch in pieces(sampler, self._loader, tokens=schedule.tokens):
            schedule.take(piece)
            yield batch

    def state_dict(self) -> dict[str, Any]:
        """Return nothing: having it tells Lightning that resuming inside an epoch is safe."""
        return {}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Do nothing: the schedule keeps the position."""
