"""Batches of changing size in a loop written with Hugging Face Accelerate.

Accelerate deals whole batches out to its processes, so that the batch the optimiser sees grows
with them.  Here every update is cut over the processes instead: the plan's batch size is what the
optimiser sees, with any number of them.
"""

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sized
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch.utils.data import DataLoader, IterableDataset, default_collate

from rebatch._plan import Plan
from rebatch.data import Piece, PlannedBatchSampler, PlannedStream, pieces
from rebatch.data._order import epoch_generator, tell_epoch
from rebatch.errors import InputError
from rebatch.integrations._source import source

try:
    from accelerate import Accelerator  # type: ignore[import-untyped]
    from accelerate.utils import send_to_device  # type: ignore[import-untyped]
except ImportError as error:
    raise ImportError("accelerate is missing: pip install 'rebatch[accelerate]'") from error


class PlannedLoader:
    """The updates of a plan as pieces on the device of this process, with a position to save.

    It registers itself with ``accelerator``, so that ``save_state`` keeps the position and
    ``load_state`` goes back to it, with another number of processes too.  Save after an update.
    There is nothing to prepare: what it gives is this process's share of every update already.

    Args:
        accelerator: with a ``gradient_accumulation_steps`` of 1: the pieces do that.
        dataset: of as many samples as the plan was made for, or an ``IterableDataset``.
        plan: made by ``rebatch.plan``.
        seed: with the epoch, what the order of the samples comes from.
        micro_batch_size: the most samples a process computes at once.
        shuffle: False keeps the order of the data set.
        sampler: your own order of an epoch.  A stream has its own.
        tokens: counts the tokens of a batch, where the mean loss runs over tokens.
        loader: for torch's ``DataLoader``: ``num_workers``, ``collate_fn``, …
    """

    def __init__(
        self,
        accelerator: Accelerator,
        dataset: Sized | IterableDataset[Any],
        plan: Plan,
        *,
        seed: int = 0,
        micro_batch_size: int | None = None,
        shuffle: bool = True,
        sampler: Collection[Any] | None = None,
        tokens: Callable[[Any], int] | None = None,
        **loader: Any,
    ) -> None:
        if (steps := accelerator.gradient_accumulation_steps) != 1:
            raise InputError(
                f"gradient_accumulation_steps must be 1, as micro_batch_size cuts, got {steps}"
            )
        self.accelerator, self.plan, self.tokens = accelerator, plan, tokens
        # Of its own: a loader that starts takes a number from torch's generator otherwise, and
        # after a resume inside an epoch the model's dropout would not go on as it would have.
        self._generator, self._seed = torch.Generator(), seed
        loader.setdefault("generator", self._generator)
        cut: dict[str, Any] = {
            "rank": accelerator.process_index,
            "world_size": accelerator.num_processes,
            "micro_batch_size": micro_batch_size,
        }
        self.sampler: PlannedBatchSampler | PlannedStream
        self.loader: DataLoader[Any]
        if isinstance(dataset, IterableDataset):
            if sampler is not None:
                raise InputError("sampler must not be given for a stream, got one")
            collate = loader.pop("collate_fn", None) or default_collate
            self.loader = source(dataset, **loader)
            self.sampler = PlannedStream(self.loader, plan, collate_fn=collate, **cut)
        else:
            cut |= {"shuffle": shuffle, "sampler": sampler, "dataset": dataset}
            self.sampler = PlannedBatchSampler(plan, seed, **cut)
            self.loader = DataLoader(dataset, batch_sampler=self.sampler, **loader)  # type: ignore[arg-type]
        self._updates_done: int | None = None
        accelerator.register_for_checkpointing(self)

    def epochs(self) -> Iterator[int]:
        """Yield the epochs still to train, the first perhaps half done, and go to each."""
        first = self.sampler.epoch + (len(self.sampler) == 0)
        for epoch in range(first, math.ceil(self.plan.epochs)):
            self.set_epoch(epoch)
            yield epoch

    def set_epoch(self, epoch: int) -> None:
        """Go to an epoch; the one that was loaded goes on where it was."""
        self.sampler.set_epoch(epoch)
        self._updates_done = None
        tell_epoch(self.loader.dataset, epoch)

    def __len__(self) -> int:
        """Return how many pieces of the epoch are still to come."""
        return len(self.sampler)

    def __iter__(self) -> Iterator[tuple[Piece, Any]]:
        """Give the pieces of the epoch that are still to come, each with its batch."""
        self._one_rate_an_update()
        seeded = epoch_generator(self._seed, self.sampler.epoch, "workers")
        self._generator.manual_seed(seeded.initial_seed())
        own = None if isinstance(self.sampler, PlannedStream) else self.loader
        for piece, batch in pieces(self.sampler, own, tokens=self.tokens):
            self._updates_done = piece.updates_done
            yield piece, self._placed(batch)

    @contextmanager
    def accumulate(self, piece: Piece, *models: torch.nn.Module) -> Iterator[None]:
        """Hold back the exchange of gradients, and the update, until the last piece.

        In it a prepared optimiser and scheduler do nothing before ``piece.last``, as they do in
        ``accelerator.accumulate``.
        """
        self.accelerator.sync_gradients = piece.last
        with ExitStack() as stack:
            for model in () if piece.last else models:
                stack.enter_context(self.accelerator.no_sync(model))
            yield

    def state_dict(self) -> dict[str, Any]:
        """Return the position: the update of the piece given last counts as made."""
        return self.sampler.state_dict(self._done())

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go back to a position."""
        self.sampler.load_state_dict(state)
        self._updates_done = None

    def _done(self) -> int:
        return self.sampler.updates_before if self._updates_done is None else self._updates_done

    def _placed(self, batch: Any) -> Any:
        accelerator = self.accelerator
        if not accelerator.device_placement:
            return batch
        return send_to_device(batch, accelerator.device, non_blocking=accelerator.non_blocking)

    def _one_rate_an_update(self) -> None:
        # A prepared scheduler makes as many steps an update as there are processes, because it
        # takes the batch to have grown with them, unless it is told that batches are split.
        for scheduler in self.accelerator._schedulers:
            scheduler.split_batches = True
