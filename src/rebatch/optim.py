"""Schedulers with the feel of `torch.optim.lr_scheduler`: for the batch size, and for the rate.

Schedulers that have to know how long training is read it from the plan, whose number of updates
is exact: ``OneCycleLR(optimizer, max_lr, total_steps=plan.updates)``.
"""

from collections.abc import Callable, Sequence
from typing import Any, Literal

from torch import Tensor
from torch.optim.lr_scheduler import LRScheduler
from torch.utils.data import DataLoader

from rebatch._plan import Plan
from rebatch.data._resizable import ResizableBatchSampler
from rebatch.errors import InputError, one_of, plain, positive_int, shown
from rebatch.schedules import Schedule

Rule = Literal["none", "linear", "sqrt"] | Callable[[float], float]
_RULES: dict[str, Callable[[float], float]] = {
    "none": lambda ratio: 1.0,
    "linear": lambda ratio: ratio,
    "sqrt": lambda ratio: ratio**0.5,
}


class BatchSizeScheduler:
    """Set the batch size of a loader by a schedule, one `step` at a time.

    Call `step` once for every unit of the schedule's clock: after each epoch, or after each update
    for ``clock="updates"``.  ``target`` is a `ResizableBatchSampler`, or a `DataLoader` over one.
    The position in the data is not part of its state; a plan's loaders save that too.

    >>> from rebatch import cyclical
    >>> sampler = ResizableBatchSampler(range(40), batch_size=1)
    >>> scheduler = BatchSizeScheduler(sampler, cyclical(10, width=1, steps=2))
    >>> for epoch in range(3):
    ...     print(scheduler.get_last_batch_size(), len(sampler))
    ...     scheduler.step()
    10 4
    20 2
    10 4
    """

    def __init__(
        self,
        target: ResizableBatchSampler | DataLoader[Any],
        schedule: Schedule,
        *,
        last_epoch: int = -1,
    ) -> None:
        self._sampler = _resizable(target)
        self._schedule = _by_steps(schedule)
        self.last_epoch = positive_int("last_epoch", last_epoch, at_least=-1)
        self.step()

    def step(self, epoch: int | None = None) -> None:
        """Go to the next position, or to the one given, and set its batch size."""
        position = self.last_epoch + 1 if epoch is None else epoch
        self._sampler.size = self._schedule(position)
        self.last_epoch = plain(position)

    def get_last_batch_size(self) -> int:
        """Return the batch size that was set last."""
        return self._schedule(self.last_epoch)

    def state_dict(self) -> dict[str, int]:
        """Return the position, and the size there to tell another schedule by."""
        return {"last_epoch": self.last_epoch, "batch_size": self.get_last_batch_size()}

    def load_state_dict(self, state_dict: dict[str, int]) -> None:
        """Go to a saved position and set its batch size."""
        if not {"last_epoch", "batch_size"} <= set(state_dict):
            raise InputError(f"state must be one that state_dict gave, got {shown(state_dict)}")
        epoch, size = state_dict["last_epoch"], state_dict["batch_size"]
        if size != self._schedule(epoch):
            raise InputError(
                f"state must be of this schedule, with batch size {self._schedule(epoch)} "
                f"at {epoch}, got {size}"
            )
        self.step(epoch)


class CoupledLR(LRScheduler):
    """Multiply the rates of any torch scheduler by a rule of the batch size.

    With ``r`` = batch size / base the factor is 1 (``"none"``), ``r`` (``"linear"``), ``√r``
    (``"sqrt"``) or ``rule(r)``; a list gives each parameter group its own rule.  It applies to
    the rate that the wrapped scheduler itself decided on, so it never compounds, and goes back
    exactly when the batch size drops.  Momentum that a scheduler moves too is left alone.

    Call `step` instead of the wrapped scheduler's, with the same arguments.  The batch size then
    follows by itself: with a plan for one `step` an update, with a schedule for one `step` a unit
    of its clock.  With a number, the base, it is what you say with `set_batch_size`, as often
    as you like.  ``base`` is the size that the rates are meant for: the first one by default.

    >>> import torch
    >>> from rebatch import cyclical
    >>> optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
    >>> halving = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)
    >>> scheduler = CoupledLR(halving, cyclical(10, width=1, steps=2), "linear")
    >>> for epoch in range(4):
    ...     print(scheduler.get_last_lr())
    ...     optimizer.step()
    ...     scheduler.step()
    [1.0]
    [2.0]
    [0.5]
    [1.0]
    """

    def __init__(
        self,
        scheduler: LRScheduler,
        sizes: Plan | Schedule | int,
        rule: Rule | Sequence[Rule] = "linear",
        *,
        base: int | None = None,
    ) -> None:
        self.optimizer, self.scheduler = scheduler.optimizer, scheduler
        sizes = plain(sizes)
        self._sizes = None if isinstance(sizes, int) else _by_steps(sizes)
        self.batch_size = sizes if isinstance(sizes, int) else _by_steps(sizes)(0)
        self._base = positive_int("base", self.batch_size if base is None else base)
        self._factors = _one_a_group(rule, len(self.optimizer.param_groups))
        self._own = self.get_last_lr()
        self.last_epoch = getattr(scheduler, "last_epoch", 0)  # ChainedScheduler has none
        self.set_batch_size(self._size())

    def step(self, *args: Any, **kwargs: Any) -> None:
        """Step the wrapped scheduler on its own rates, then scale them."""
        self._write(self._own)
        self.scheduler.step(*args, **kwargs)
        self._own = self.get_last_lr()
        self.last_epoch += 1
        self.set_batch_size(self._size())

    def set_batch_size(self, batch_size: int) -> None:
        """Scale the rates for a batch size, whatever it was before."""
        self.batch_size = positive_int("batch_size", batch_size)
        ratio = self.batch_size / self._base
        scaled = zip(self._own, self._factors, strict=True)
        self._write([own * factor(ratio) for own, factor in scaled])

    def get_last_lr(self) -> list[float | Tensor]:
        """Return the rates that the optimiser has now."""
        return [float(group["lr"]) for group in self.optimizer.param_groups]

    def state_dict(self) -> dict[str, Any]:
        """Return the wrapped scheduler's state, its own rates and the batch size."""
        return {
            "scheduler": self.scheduler.state_dict(),
            "own": self._own,
            "last_epoch": self.last_epoch,
            "batch_size": self.batch_size,
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take up a saved state and set the rates of the optimiser by it."""
        self.scheduler.load_state_dict(dict(state_dict["scheduler"]))  # torch's CyclicLR pops
        self._own, self.last_epoch = list(state_dict["own"]), state_dict["last_epoch"]
        self.set_batch_size(state_dict["batch_size"])

    def _size(self) -> int:
        return self._sizes(self.last_epoch) if self._sizes else self.batch_size

    def _write(self, rates: Sequence[float | Tensor]) -> None:
        for group, rate in zip(self.optimizer.param_groups, rates, strict=True):
            if isinstance(group["lr"], Tensor):
                group["lr"].fill_(rate)
            else:
                group["lr"] = rate


def _resizable(target: object) -> ResizableBatchSampler:
    """Return the sampler inside a loader, also where a framework has wrapped it."""
    inner = target
    while inner is not None and not isinstance(inner, ResizableBatchSampler):
        inner = getattr(inner, "batch_sampler", None)
    if inner is None:
        raise InputError(
            "target must be a ResizableBatchSampler or a DataLoader with one as batch_sampler, "
            f"got {type(target).__name__}"
        )
    return inner


def _by_steps(sizes: Plan | Schedule) -> Callable[[int], int]:
    """Return the batch size after a number of steps; after the last of a plan it stays."""
    if isinstance(sizes, Plan):
        return lambda steps: sizes.batch_size_at(min(steps, sizes.updates - 1))
    if not isinstance(sizes, Schedule):
        raise InputError(f"schedule must be a schedule, got {shown(sizes)}")
    if sizes.clock not in ("epochs", "updates"):
        raise InputError(
            f"schedule must count epochs or updates, as step does: make a plan of one that "
            f"counts {sizes.clock}, got {sizes}"
        )
    return sizes


def _one_a_group(rule: Rule | Sequence[Rule], groups: int) -> list[Callable[[float], float]]:
    rules = [rule] * groups if isinstance(rule, str) or callable(rule) else list(rule)
    if len(rules) != groups:
        raise InputError(f"rule must be one for each of {groups} groups, got {len(rules)}")
    return [
        each if callable(each) else _RULES[one_of("rule", each, tuple(_RULES))] for each in rules
    ]
