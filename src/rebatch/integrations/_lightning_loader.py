"""The loader that Lightning trains on: as long as the epoch at hand, and late to start."""

from collections.abc import Callable, Iterator, Mapping, Sized
from typing import Any, Protocol

import torch
from torch.utils.data import DataLoader, IterableDataset, default_collate

from rebatch.data import Piece, PlannedBatchSampler, PlannedStream, pieces
from rebatch.data._order import epoch_generator, tell_epoch
from rebatch.integrations._source import source


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

    def __init__(
        self, schedule: Feeding, dataset: Sized | IterableDataset[Any], **options: Any
    ) -> None:
        self.schedule = schedule
        # Its own, or every epoch would take a number from the one that dropout draws from.
        self._generator = torch.Generator()
        options.setdefault("generator", self._generator)
        self.stream: PlannedStream | None = None
        """What cuts a data set without indices; the position is the sampler's there too."""
        self._loader: DataLoader[Any]
        if isinstance(dataset, IterableDataset):
            collate = options.pop("collate_fn", None) or default_collate
            self._loader = source(dataset, **options)
            self.stream = PlannedStream(self._loader, schedule.sampler.plan, collate_fn=collate)
        else:
            schedule.sampler.check(dataset)
            self._loader = DataLoader(dataset, batch_sampler=schedule.sampler, **options)  # type: ignore[arg-type]

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
        if self.stream is None:  # Lightning's differs by rank, and all must read a stream alike
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
        purpose = f"workers of rank {sampler.share.rank}" if self.stream is None else "workers"
        seed = epoch_generator(sampler.seed, sampler.epoch, purpose).initial_seed()
        self._generator.manual_seed(seed)
        for piece, batch in self._pieces():
            schedule.take(piece)
            yield batch

    def _pieces(self) -> Iterator[tuple[Piece, Any]]:
        sampler, stream, tokens = self.schedule.sampler, self.stream, self.schedule.tokens
        if stream is None:
            tell_epoch(self._loader.dataset, sampler.epoch)
            return pieces(sampler, self._loader, tokens=tokens)
        stream.share = sampler.share
        stream.set_epoch(sampler.epoch)
        stream.load_state_dict(stream.state_dict(updates_done=sampler.updates_before))
        return pieces(stream, tokens=tokens)

    def state_dict(self) -> dict[str, Any]:
        """Return nothing: having it tells Lightning that resuming inside an epoch is safe."""
        return {}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Do nothing: the schedule keeps the position."""
