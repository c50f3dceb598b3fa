"""What a Lightning ``Trainer`` must not be set to, or the plan could not be kept."""

import inspect
import math
from typing import Any

from rebatch._plan import Plan
from rebatch.errors import InputError


def check_trainer(trainer: Any, pl_module: Any, plan: Plan, shortest: int) -> None:
    """Raise where a setting contradicts the plan, whose shortest epoch has ``shortest`` batches."""
    _check_length(trainer, plan)
    _check_batches(trainer)
    _check_validation(trainer, shortest)
    if trainer.strategy.handles_gradient_accumulation:
        kind = type(trainer.strategy).__name__
        raise InputError(f"strategy must leave accumulation to the plan, got {kind}")
    if "dataloader_iter" in inspect.signature(pl_module.training_step).parameters:
        raise InputError("training_step must take the batch, got dataloader_iter")


def _check_length(trainer: Any, plan: Plan) -> None:
    epochs, most, updates = trainer.max_epochs, math.ceil(plan.epochs), trainer.max_steps
    if epochs > most:
        raise InputError(f"max_epochs must be at most the {most} epochs planned, got {epochs}")
    if epochs == -1 and not 0 <= updates <= plan.updates:
        raise InputError(f"max_steps must be from 0 to {plan.updates}, as planned, got {updates}")


def _check_batches(trainer: Any) -> None:
    limit, overfit = trainer.limit_train_batches, trainer.overfit_batches
    if overfit:
        raise InputError(f"overfit_batches must be 0 with a plan, got {overfit}")
    if not trainer.fast_dev_run and (isinstance(limit, int) or limit != 1):
        raise InputError(f"limit_train_batches must be 1.0 with a plan, got {limit}")
    if (batches := trainer.accumulate_grad_batches) != 1:
        raise InputError(
            f"accumulate_grad_batches must be 1, micro_batch_size cuts an update, got {batches}"
        )


def _check_validation(trainer: Any, shortest: int) -> None:
    if not shortest:
        raise InputError("plan must have an update in every epoch, got an epoch without")
    every = trainer.val_check_interval
    if isinstance(every, int) and trainer.check_val_every_n_epoch and every > shortest:
        raise InputError(
            f"val_check_interval must be at most {shortest}, the batches of the shortest epoch, "
            f"got {every}"
        )
