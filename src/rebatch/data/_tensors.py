"""A loader for data that is already in memory or on the GPU: batches are indexed, not collected."""

from collections.abc import Iterator, Sequence
from typing import Any

from torch import Tensor

from rebatch._amount import Examples
from rebatch._plan import Plan, Portion
from rebatch.data._augment import Augment
from rebatch.data._feed import Feed
from rebatch.data._order import epoch_generator, epoch_order
from rebatch.errors import InputError

Batch = tuple[Tensor, ...]


class TensorLoader(Feed):
    """The batches of one epoch of tensors whose first dimension is the sample.

    The order is that of `PlannedBatchSampler` with the same seed.  ``augment`` changes the first
    tensor by numbers drawn for the whole epoch from (seed, epoch) and kept by place in the epoch,
    so ranks, micro-batches and a resume give the same images.

    >>> import rebatch, torch
    >>> plan = rebatch.plan(rebatch.constant(2), epochs=1, examples=5)
    >>> [batch.tolist() for (batch,) in TensorLoader((torch.arange(5),), plan, shuffle=False)]
    [[0, 1], [2, 3], [4]]
    """

    def __init__(
        self,
        tensors: Sequence[Tensor],
        plan: Plan,
        seed: int = 0,
        *,
        augment: Augment | None = None,
        shuffle: bool = True,
    ) -> None:
        _check(tensors, plan)
        super().__init__(plan)
        self._tensors, self._augment = tuple(tensors), augment
        self.seed, self.shuffle = seed, shuffle

    def __iter__(self) -> Iterator[Batch]:
        order, draws = self._epoch_order(), self._epoch_draws()
        for portion, numbers in self._remaining():
            for number in numbers:
                self._drawn += 1
                yield self._batch(order, draws, _places(portion, number))

    def _batch(self, order: Tensor | None, draws: Tensor | None, places: slice) -> Batch:
        if order is None:
            batch = tuple(tensor[places].clone() for tensor in self._tensors)
        else:
            batch = tuple(tensor.index_select(0, order[places]) for tensor in self._tensors)
        if self._augment is None or draws is None:
            return batch
        return self._augment(batch[0], draws[places]), *batch[1:]

    def _epoch_order(self) -> Tensor | None:
        if not self.shuffle:
            return None
        order = epoch_order(self.plan.examples, self.seed, self.epoch)
        return order.to(self._tensors[0].device)

    def _epoch_draws(self) -> Tensor | None:
        if self._augment is None:
            return None
        generator = epoch_generator(self.seed, self.epoch, "augment")
        return self._augment.draw(self.plan.examples, generator).to(self._tensors[0].device)

    def _identity(self) -> dict[str, Any]:
        return {**super()._identity(), "seed": self.seed, "shuffle": self.shuffle}


def _places(portion: Portion, number: int) -> slice:
    """Return the places in the epoch's order that an update takes."""
    start = portion.offset + number * portion.batch_size
    return slice(start, min(start + portion.batch_size, portion.offset + portion.length))


def _check(tensors: Sequence[Tensor], plan: Plan) -> None:
    if not isinstance(plan.amount, Examples):
        raise InputError("plan must be of examples, made with examples=, got one of tokens")
    if not tensors or any(len(tensor) != plan.examples for tensor in tensors):
        got = ", ".join(str(len(tensor)) for tensor in tensors) or "none"
        raise InputError(
            f"tensors must hold the {plan.examples} examples that the plan was made for, got {got}"
        )
    if len({tensor.device for tensor in tensors}) > 1:
        got = ", ".join(str(tensor.device) for tensor in tensors)
        raise InputError(f"tensors must be on one device, got {got}")
