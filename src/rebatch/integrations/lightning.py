"""Batches of changing size under Lightning's ``Trainer``: one callback and the loader it makes.

Lightning counts the batches of an epoch when it sets up its loader, accumulates by remainders of
a batch's number, and estimates the length of training from its first epoch.  The callback gives
it the plan's numbers in each of these places.
"""

import math
from collections.abc import Callable, Collection, Mapping, Sized
from typing import Any

from torch import Tensor
from torch.utils.data import IterableDataset

from rebatch._plan import Plan
from rebatch.data import Piece, PlannedBatchSampler
from rebatch.data._cut import Share, count_pieces
from rebatch.errors import InputError
from rebatch.integrations._lightning_checks import check_trainer
from rebatch.integrations._lightning_loader import PlannedLoader

try:
    from lightning.pytorch import Callback, LightningModule, Trainer
except ImportError as error:
    raise ImportError("lightning is missing: pip install 'rebatch[lightning]'") from error

STREAM = "stream"
"""The order of samples that a saved position of a stream has."""


class BatchSizeSchedule(Callback):
    """Train by a plan: ``Trainer(callbacks=[schedule])``, ``fit(model, schedule.loader(dataset))``.

    Every epoch is one pass over the data, on any number of devices.  ``estimated_stepping_batches``
    is the number of updates planned, the batch size is logged, and a checkpoint keeps the
    position: inside an epoch, too, training goes on with the samples still to come, also on
    another number of devices.

    Return the mean loss of the batch from ``training_step``, as always: with several devices or
    ``micro_batch_size`` its gradient is weighted by the batch's share of the update.  Under manual
    optimisation use ``manual_backward``, and update where ``schedule.piece.last``.

    Args:
        plan: made by ``rebatch.plan`` for examples.
        seed: with the epoch, what the order of the samples comes from.
        micro_batch_size: the most samples a device computes at once.
        shuffle: False keeps the order of the data set.
        sampler: your own order of an epoch.  A stream has its own.
        tokens: counts the tokens of a batch, where the mean loss runs over tokens.
        log_as: the name the batch size is logged by; None for not at all.
    """

    def __init__(
        self,
        plan: Plan,
        seed: int = 0,
        *,
        micro_batch_size: int | None = None,
        shuffle: bool = True,
        sampler: Collection[Any] | None = None,
        tokens: Callable[[Any], int] | None = None,
        log_as: str | None = "batch_size",
    ) -> None:
        self.plan, self.tokens, self.log_as = plan, tokens, log_as
        self._has_order = sampler is not None
        self.sampler = PlannedBatchSampler(
            plan, seed, shuffle=shuffle, micro_batch_size=micro_batch_size, sampler=sampler
        )
        self.piece: Piece | None = None
        """What the batch in training is of its update."""
        self._starts_update = True
        self._updates_done = 0
        self._epoch_announced = False
        self._streams: bool | None = None
        """Whether training is on a stream, or was before the checkpoint; None for not known."""
        self._trainer: Trainer | None = None

    def loader(self, dataset: Sized | IterableDataset[Any], **options: Any) -> PlannedLoader:
        """Return what to train on; ``options`` are those of torch's ``DataLoader``."""
        if self._has_order and isinstance(dataset, IterableDataset):
            raise InputError("sampler must not be given for a stream, got one")
        return PlannedLoader(self, dataset, **options)

    def set_epoch(self, epoch: int) -> None:
        """Go to an epoch, as Lightning asks; the one that was loaded goes on where it was."""
        if epoch != self.sampler.epoch:
            self._updates_done = 0
        self.sampler.set_epoch(epoch)

    def length(self) -> int:
        """Return the number of batches of the epoch that Lightning is at."""
        epoch = self._trainer.current_epoch if self._trainer else self.sampler.epoch
        return self._batches_in(min(epoch, math.ceil(self.plan.epochs) - 1))

    def start(self) -> None:
        """Note that batches are asked for."""
        if self._trainer is None:
            raise InputError(
                "callbacks must hold the schedule of the loader, got a Trainer without"
            )
        self.piece = None

    def take(self, piece: Piece) -> None:
        """Note what the next batch is of its update."""
        self._starts_update = self.piece is None or self.piece.last
        self.piece = piece

    def state_dict(self) -> dict[str, Any]:
        """Return the position, by the updates that are made."""
        state = self.sampler.state_dict(self._updates_done)
        return {**state, "order": STREAM} if self._streams else state

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Go back to a position."""
        own, self._streams = self.sampler.state_dict(0), state_dict.get("order") == STREAM
        order = {"order": own["order"]} if self._streams else {}
        self.sampler.load_state_dict({**state_dict, **order})
        self._updates_done = self.sampler.updates_before

    def setup(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        """Take this device's share of the plan, and make the trainer count by it."""
        if stage != "fit":
            return
        micro_batch_size = self.sampler.share.micro_batch_size
        self.sampler.share = Share(trainer.global_rank, trainer.world_size, micro_batch_size)
        # A run without a checkpoint begins an epoch, also where one before it was resumed inside.
        self.load_state_dict(self.sampler.state_dict(updates_done=0))
        self._streams = None
        self._check(trainer, pl_module)
        _count_by(self.plan, trainer)
        self._trainer = trainer

    def on_load_checkpoint(
        self, trainer: Trainer, pl_module: LightningModule, checkpoint: dict[str, Any]
    ) -> None:
        """Bring the trainer's own counts to the position, which other devices count otherwise."""
        if self._trainer is None:
            return
        if (state := checkpoint["callbacks"].get(self.state_key)) is None:
            raise InputError("checkpoint must be of a run with BatchSizeSchedule, got one without")
        self.load_state_dict(state)
        batches = self._batches_in(self.sampler.epoch)
        progress = checkpoint["loops"]["fit_loop"]
        _move(progress, self.sampler.epoch, batches - len(self.sampler), batches)

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """See that it is the planned batches that are trained on, and no epoch more."""
        self._check(trainer, pl_module)
        loader = trainer.train_dataloader
        if not isinstance(loader, PlannedLoader) or loader.schedule is not self:
            raise InputError(
                f"train_dataloaders must be what schedule.loader gives, got {type(loader).__name__}"
            )
        streams = loader.stream is not None
        if self._streams not in (None, streams):
            of = "a stream" if streams else "a data set with indices"
            raise InputError(f"checkpoint must be of a run on {of}, got one of another")
        self._streams = streams

    def on_train_epoch_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Note that the progress bar has been told of the epoch."""
        self._epoch_announced = True

    def on_train_batch_start(
        self, trainer: Trainer, pl_module: LightningModule, batch: Any, batch_idx: int
    ) -> None:
        """Make Lightning clear the gradients and update where the plan says."""
        assert self.piece is not None
        if not self._epoch_announced:
            self._announce(trainer, pl_module)
        accumulated = _accumulated(batch_idx, self._starts_update, self.piece.last)
        trainer.accumulate_grad_batches = accumulated
        if pl_module.automatic_optimization and self._starts_update and batch_idx % accumulated:
            pl_module.optimizer_zero_grad(trainer.current_epoch, batch_idx, trainer.optimizers[0])
        # What loggers take as their step; Lightning may be one off after a resume.
        trainer.fit_loop.epoch_loop._batches_that_stepped = self.piece.update
        if self.log_as:
            pl_module.log(self.log_as, float(self.piece.batch_size), prog_bar=True)

    def on_before_backward(
        self, trainer: Trainer, pl_module: LightningModule, loss: Tensor
    ) -> None:
        """Weight the gradient of a batch by what it is of its update."""
        assert self.piece is not None
        weight = self.piece.weight
        if pl_module.automatic_optimization:
            weight *= trainer.accumulate_grad_batches  # by which Lightning has divided
        if weight != 1:
            loss.register_hook(lambda gradient: gradient * weight)  # type: ignore[no-untyped-call]

    def on_train_batch_end(self, *_: Any) -> None:
        """Count the update that is made."""
        assert self.piece is not None
        self._updates_done = self.piece.updates_done

    def on_train_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Note that the next epoch is still to be told."""
        self._epoch_announced = False

    def teardown(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        """Leave the trainer as it was."""
        if self._trainer is not None:
            trainer.accumulate_grad_batches = 1
            self._trainer = None

    def on_exception(
        self, trainer: Trainer, pl_module: LightningModule, exception: BaseException
    ) -> None:
        """Leave the trainer as it was."""
        self.teardown(trainer, pl_module, "fit")

    def _check(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self.sampler.share.check(self.plan)
        shortest = min(map(self._batches_in, range(math.ceil(self.plan.epochs))))
        check_trainer(trainer, pl_module, self.plan, shortest)

    def _announce(self, trainer: Trainer, pl_module: LightningModule) -> None:
        # Lightning says nothing of an epoch that it resumes, and the bar would have no total.
        self._epoch_announced = True
        if bar := trainer.progress_bar_callback:
            bar.on_train_epoch_start(trainer, pl_module)

    def _batches_in(self, epoch: int) -> int:
        return count_pieces(self.plan, self.sampler.share, epoch)


def _accumulated(batch_idx: int, first: bool, last: bool) -> int:
    """Return what ``Trainer.accumulate_grad_batches`` has to be for one batch.

    Lightning clears the gradients where ``batch_idx % n == 0`` and updates where
    ``(batch_idx + 1) % n == 0``.  Where several batches make an update, these numbers let it
    update with the last one, and clear nothing in between.
    """
    if first and last:
        return 1
    return batch_idx + 1 if last else batch_idx + 2


def _count_by(plan: Plan, trainer: Any) -> None:
    """Make the trainer count the batches of every epoch, and estimate all updates by the plan."""
    trainer.reload_dataloaders_every_n_epochs = 1
    kind = type(trainer)  # the estimate is a property, which only a class can replace
    trainer.__class__ = type(kind.__name__, (kind,), {"estimated_stepping_batches": plan.updates})


def _move(progress: dict[str, Any], epoch: int, batches_done: int, batches: int) -> None:
    """Bring the progress in a checkpoint to a place in an epoch.

    Lightning counts batches, of which other devices make more or fewer, and those of an update
    that was not finished.  It takes an epoch that was stopped inside for finished, and after the
    last batch of one it measures the next by its length.
    """
    within, over = progress["epoch_loop.batch_progress"], progress["epoch_progress"]
    current, total = within["current"], within["total"]
    in_batch_end = total["completed"] < total["processed"]
    ended = batches_done == batches and (over["current"]["processed"] > epoch or in_batch_end)
    moved = batches_done - current["processed"]
    for name, count in current.items():
        current[name] = 0 if ended else count + moved
        total[name] = total["processed"] if ended else total[name]
    within["is_last_batch"] = batches_done == batches and not ended
    for counts in over.values():
        counts["processed"] = epoch + 1 if ended else min(counts["processed"], epoch)
        counts["completed"] = epoch + 1 if ended else min(counts["completed"], epoch)
