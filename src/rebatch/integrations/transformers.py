"""Batches of changing size in the Transformers `Trainer`.

The Trainer works out the number of updates, the epochs and what to skip on a resume from one
constant batch size.  So it is shown the whole plan as one pass of ``plan.updates`` items, each
the pieces of an update, and the true epochs are told to everybody who asks: the state, the logs
and the callbacks.
"""

import math
from collections.abc import Collection, Iterator
from contextlib import nullcontext
from copy import copy
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, IterableDataset

from rebatch._plan import Plan
from rebatch.data import PlannedBatchSampler, PlannedStream
from rebatch.errors import InputError, shown
from rebatch.integrations._source import source
from rebatch.integrations._updates import Update, Updates

try:
    from transformers import (
        Trainer,
        TrainerCallback,
        TrainerControl,
        TrainerState,
        TrainingArguments,
    )
except ImportError as error:
    raise ImportError("transformers is missing: pip install 'rebatch[transformers]'") from error

_OPTIONS = (
    "collate_fn",
    "num_workers",
    "pin_memory",
    "timeout",
    "worker_init_fn",
    "multiprocessing_context",
    "prefetch_factor",
    "persistent_workers",
)
_KEY = "PlannedTrainer"


class Clock(TrainerCallback):
    """Tells the true epoch, and begins each; comes before all other callbacks."""

    def __init__(self, trainer: "PlannedTrainer") -> None:
        self.trainer, self.plan, self.started_at = trainer, trainer.plan, 0

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        """Check that a checkpoint fits the plan."""
        self.started_at = state.global_step
        state.num_train_epochs = math.ceil(self.plan.epochs)
        kept: Any = state.stateful_callbacks  # a dictionary, whatever its type says
        if _KEY in kept:
            self.trainer.sampler.load_state_dict(kept[_KEY]["attributes"])
        elif state.global_step:
            raise InputError("checkpoint must be one of a PlannedTrainer, got one of another")
        self.trainer.sampler.set_epoch(0)
        start = self.trainer.sampler.state_dict(updates_done=0)
        kept[_KEY] = {"args": {}, "attributes": start}

    def on_step_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> TrainerControl:
        """Begin an epoch, but for the first, which the Trainer begins."""
        if state.global_step != self.started_at and not self.plan.epoch_at(state.global_step)[1]:
            control = self.trainer.callback_handler.on_epoch_begin(args, state, control)
        return control

    def on_step_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        """Set the epoch: those finished, and the part of the data seen in this one."""
        step = state.global_step
        epoch, done = self.plan.epoch_at(step)
        seen = self.plan.sample_at(step) - self.plan.sample_at(step - done)
        state.epoch = epoch + seen / self.plan.examples


class Bell(TrainerCallback):
    """Ends each epoch, but for the last, which the Trainer ends; comes after all others."""

    def __init__(self, trainer: "PlannedTrainer") -> None:
        self.trainer, self.plan = trainer, trainer.plan

    def on_step_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> TrainerControl:
        """Let what is done once an epoch be done: evaluate, save, log."""
        step = state.global_step
        if step < self.plan.updates and not self.plan.epoch_at(step)[1]:
            control = self.trainer.callback_handler.on_epoch_end(args, state, control)
        return control


class PlannedTrainer(Trainer):
    """A `Trainer` whose training batches follow a plan.

    For a Trainer of your own: ``class Mine(PlannedTrainer, MyTrainer)``.  ``max_steps`` becomes
    ``plan.updates``, so schedulers and progress bars have the right length; ``batch_size`` is in
    the logs; a checkpoint of any update is resumed exactly, with other processes too.

    Args:
        positional: as for the Trainer.
        plan: made by ``rebatch.plan`` for as many examples as ``train_dataset`` has; for an
            ``IterableDataset`` without a length by its ``updates`` or ``samples``.
        micro_batch_size: the most samples a device computes at once: it stands in for
            ``per_device_train_batch_size`` and ``gradient_accumulation_steps``.
        shuffle: False keeps the order of the data set; ``data_seed`` or ``seed`` shuffles it.  A
            stream has its own.
        sampler: your own order of an epoch.
        named: as for the Trainer.
    """

    def __init__(
        self,
        *positional: Any,
        plan: Plan,
        micro_batch_size: int | None = None,
        shuffle: bool = True,
        sampler: Collection[Any] | None = None,
        **named: Any,
    ) -> None:
        if not isinstance(plan, Plan):
            raise InputError(f"plan must be one that rebatch.plan made, got {shown(plan)}")
        # Before the Trainer looks: it takes a stream only where it is told how long to train.
        given = [_planned(value, plan) for value in positional]
        super().__init__(*given, **{name: _planned(named[name], plan) for name in named})
        if self.is_deepspeed_enabled:
            raise InputError("deepspeed must be off, as it accumulates by itself, got it on")
        self.plan = plan
        self.args = _planned(self.args, plan)  # the Trainer's own, where it was given none
        self._seed = self.args.seed if self.args.data_seed is None else self.args.data_seed
        self._source = _source(self.train_dataset, self.args)
        cut: dict[str, Any] = {
            "rank": self.args.process_index,
            "world_size": self.args.world_size,
            "micro_batch_size": micro_batch_size,
        }
        self.sampler: PlannedBatchSampler | PlannedStream
        if self._source is None:
            cut |= {"shuffle": shuffle, "sampler": sampler, "dataset": _sized(self.train_dataset)}
            self.sampler = PlannedBatchSampler(plan, self._seed, **cut)
        else:
            self.sampler = self._stream(self._source, sampler, **cut)
        self.callback_handler.callbacks.insert(0, Clock(self))
        self.callback_handler.callbacks.append(Bell(self))

    def get_train_dataloader(self) -> Any:
        """Return a loader of updates with the settings of the Trainer's own."""
        self.callback_handler.callbacks.sort(key=lambda callback: isinstance(callback, Bell))
        loader = self._planned_loader() if self._source is None else self._source
        return Updates(self.sampler, loader, lambda: self.state.global_step, self._seed)

    def get_batch_samples(
        self, epoch_iterator: Iterator[Any], num_batches: int, device: torch.device
    ) -> tuple[list[Any], Any]:
        """Return the next update, weighted by the items that the Trainer counts, and the items.

        They are the labels that the loss is a mean of, where the Trainer knows how to count them.
        """
        update: Update | None = next(epoch_iterator, None)
        if update is None:
            return [], None
        count: Any = super().get_batch_samples
        items = [count(iter([batch]), 1, torch.device("cpu"))[1] for batch in update.counted()]
        if items[0] is not None:
            items = [int(number) for number in items]
            update.weigh(items, self._over_processes(sum(items)), self.args.world_size)
        return [update], items

    def training_step(
        self, model: nn.Module, inputs: Any, num_items_in_batch: Any = None
    ) -> Tensor:
        """Add up the gradient of an update piece by piece, and exchange it with the last.

        A model that is told the items of its own batch gives the mean over them whether it makes
        use of the number or not, so the weight is the same for both.
        """
        loss = torch.zeros((), device=self.args.device)
        parts = zip(inputs.pieces, inputs.batches, num_items_in_batch, strict=True)
        for piece, batch, items in parts:
            # What Accelerate divides a loss by before it goes back.
            steps = 1 / piece.weight if piece.weight else math.inf
            self.accelerator.gradient_accumulation_steps = steps
            counted = None if items is None else max(1, items)
            with nullcontext() if piece.last else self.accelerator.no_sync(model=model):
                mean = super().training_step(model, batch, counted)
            if piece.weight:  # the mean over no items may be nan, which it is times 0 too
                loss += mean * piece.weight
        self.accelerator.gradient_accumulation_steps = 1
        return loss

    def floating_point_ops(self, inputs: Any) -> int:
        """Return the operations of an update."""
        count = super().floating_point_ops
        return sum(count(batch) for batch in inputs.counted())

    def get_total_train_batch_size(self, args: TrainingArguments) -> float:  # type: ignore[override]
        """Return the mean batch size of the plan."""
        return self.plan.samples / self.plan.updates

    def log(self, logs: dict[str, float], *rest: Any, **named: Any) -> None:
        """Log the batch size with the training loss."""
        if "loss" in logs:
            logs["batch_size"] = self.plan.batch_size_at(self.state.global_step - 1)
        super().log(logs, *rest, **named)

    def _stream(self, source: DataLoader[Any], sampler: object, **cut: Any) -> PlannedStream:
        if sampler is not None:
            raise InputError(
                "sampler must not be given for a stream, which has its own order, got one"
            )
        collate = self._get_collator_with_removed_columns(self.data_collator, "training")
        return PlannedStream(source, self.plan, collate_fn=collate, **cut)

    def _planned_loader(self) -> DataLoader[Any]:
        made = super().get_train_dataloader()
        options = {name: getattr(made, name) for name in _OPTIONS}
        sampler: Any = self.sampler
        return DataLoader(
            made.dataset, batch_sampler=sampler, generator=torch.Generator(), **options
        )

    def _over_processes(self, count: int) -> int:
        if self.args.world_size == 1:
            return count
        total = torch.tensor(count, device=self.args.device)
        return int(self.accelerator.reduce(total, reduction="sum"))

    def _track_num_input_tokens(self, inputs: Any) -> None:
        for batch in inputs.counted():
            super()._track_num_input_tokens(batch)  # type: ignore[no-untyped-call]


def _planned(args: Any, plan: Plan) -> Any:
    """Return a copy of training arguments that trains for as long as the plan; no other value."""
    if not isinstance(args, TrainingArguments):
        return args
    if args.max_steps not in (-1, plan.updates):
        raise InputError(f"max_steps must be the plan's {plan.updates}, got {args.max_steps}")
    if (steps := args.gradient_accumulation_steps) != 1:
        raise InputError(
            f"gradient_accumulation_steps must be 1, as micro_batch_size cuts, got {steps}"
        )
    if args.auto_find_batch_size:
        raise InputError("auto_find_batch_size must be False, as the plan has the sizes, got True")
    if args.n_gpu > 1:
        raise InputError(f"devices must be one a process: use torchrun, got {args.n_gpu} in one")
    args = copy(args)
    args.max_steps, args.num_train_epochs = plan.updates, plan.epochs
    args.ignore_data_skip = True  # the loader itself starts at the right place
    args.average_tokens_across_devices = False  # the weights do
    return args


def _source(dataset: Any, args: TrainingArguments) -> DataLoader[Any] | None:
    """Return what reads a stream sample by sample, in workers if the arguments want some."""
    if not isinstance(dataset, IterableDataset):
        return None
    return source(
        dataset,
        num_workers=args.dataloader_num_workers,
        prefetch_factor=args.dataloader_prefetch_factor,
        persistent_workers=args.dataloader_persistent_workers,
        multiprocessing_context=getattr(args, "dataloader_multiprocessing_context", None),
    )


def _sized(dataset: Any) -> Any:
    if dataset is None or not hasattr(dataset, "__len__"):
        raise InputError(f"train_dataset must have a length, got {type(dataset).__name__}")
    return dataset
