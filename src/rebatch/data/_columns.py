"""Token columns: one long stream laid out in ``batch_size`` columns for truncated back-propagation.

A stretch of T tokens becomes ``T // B`` rows of B columns, each column a contiguous piece of the
text.  When the batch size changes the rest of the stream is laid out anew, and the segment says
that the hidden state has to start from zero.
"""

from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from rebatch._amount import Tokens
from rebatch._plan import Plan, Portion
from rebatch.data._cut import Share
from rebatch.data._feed import Feed
from rebatch.errors import InputError


class Segment(NamedTuple):
    """What one update reads: ``time`` rows of this rank's columns."""

    update: int
    """Counted from the start of training."""
    batch_size: int
    """Columns over all ranks."""
    inputs: Tensor
    """``[time, columns]``, a view."""
    targets: Tensor
    """The same columns one row later."""
    reset: bool
    """Whether the layout is new, so that the hidden state starts from zero."""
    samples: int
    """Tokens predicted in the update, over all ranks."""
    weight: float
    """This rank's columns × ranks ÷ all columns: what makes an average over ranks exact."""


class TokenColumns(Feed):
    """The segments of one epoch of a token stream, cut as the plan says.

    After `load_state_dict` the hidden state is the loop's own to restore: ``reset`` is false for
    the first segment, unless a layout starts with it.

    >>> import rebatch
    >>> plan = rebatch.plan(rebatch.constant(2), epochs=1, tokens=10, bptt=3)
    >>> for segment in TokenColumns(torch.arange(10), plan):
    ...     print(segment.reset, segment.inputs.tolist(), segment.targets.tolist())
    True [[0, 5], [1, 6], [2, 7]] [[1, 6], [2, 7], [3, 8]]
    False [[3, 8]] [[4, 9]]
    """

    def __init__(
        self,
        tokens: Tensor,
        plan: Plan,
        *,
        rank: int = 0,
        world_size: int = 1,
        device: torch.device | str | None = None,
    ) -> None:
        super().__init__(plan)
        self._bptt = _checked_bptt(tokens, plan)
        self.share = Share(rank, world_size)
        _check_columns(plan, world_size)
        self._tokens = tokens if device is None else tokens.to(device)

    def __iter__(self) -> Iterator[Segment]:
        for portion, numbers in self._remaining():
            for segment in self._segments(portion, numbers):
                self._drawn += 1
                yield segment

    def left_out(self, epoch: int) -> int:
        """Return how many tokens of an epoch are never predicted.

        They are the first row of every layout, which is input only, and what is left over when
        the stream is cut in columns of equal length.
        """
        plan = self.plan
        first, last = plan.first_update_of(epoch), plan.first_update_of(epoch + 1)
        read = plan.end.offset if epoch == plan.end.epoch else plan.examples
        return read - (plan.sample_at(last) - plan.sample_at(first))

    def _segments(self, portion: Portion, numbers: range) -> Iterator[Segment]:
        table, weight = self._table(portion)
        for number in numbers:
            top = number * self._bptt
            end = min(top + self._bptt, len(table) - 1)
            yield Segment(
                update=portion.first_update + number,
                batch_size=portion.batch_size,
                inputs=table[top:end],
                targets=table[top + 1 : end + 1],
                reset=number == 0,
                samples=(end - top) * portion.batch_size,
                weight=weight,
            )

    def _table(self, portion: Portion) -> tuple[Tensor, float]:
        """Lay out this rank's columns of a stretch as ``[rows, columns]``, with their weight.

        One copy a layout, so that every segment of it is a contiguous view.
        """
        size = portion.batch_size
        rows = portion.length // size
        left, right = self.share.of(size)
        stretch = self._tokens[portion.offset + left * rows : portion.offset + right * rows]
        weight = (right - left) * self.share.world_size / size
        return stretch.view(right - left, rows).t().contiguous(), weight


def _checked_bptt(tokens: Tensor, plan: Plan) -> int:
    if not isinstance(plan.amount, Tokens):
        raise InputError("plan must be of tokens, made with tokens= and bptt=, got one of examples")
    if tokens.dim() != 1 or tokens.dtype != torch.int64:
        got = f"{tokens.dtype} of shape {tuple(tokens.shape)}"
        raise InputError(f"tokens must be a one-dimensional int64 tensor, got {got}")
    if len(tokens) != plan.amount.count:
        raise InputError(
            f"tokens must be the {plan.amount.count} that the plan was made for, got {len(tokens)}"
        )
    return plan.amount.bptt


def _check_columns(plan: Plan, world_size: int) -> None:
    if plan.sizes[0] < world_size:
        raise InputError(
            f"world_size must be at most the smallest batch size, {plan.sizes[0]}, "
            f"because every rank needs a column, got {world_size}"
        )
