"""An ``nn.LSTM`` by `rebatch.kernels.recurrence`: the same function, sooner done on a GPU."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn.functional import dropout, pad

State = tuple[Tensor, Tensor]
MOST_COLUMNS = 128
"""Columns up to which this is used: it has been measured up to 80, where it still gains."""


class _Layer(torch.autograd.Function):
    """One layer: its output and last cell, all of them padded."""

    @staticmethod
    def forward(
        ctx: Any, inputs: Tensor, into: Tensor, back: Tensor, bias: Tensor, h: Tensor, c: Tensor
    ) -> Any:
        from rebatch.kernels.packing import packed, packed_and_turned
        from rebatch.kernels.recurrence import go_forward

        steps, rows, width = inputs.shape
        size, kind = h.shape[1], inputs.dtype
        weight = packed(into, kind, width=width, parts=4, height=size)
        own, turned = packed_and_turned(back, kind, width=size, parts=4, height=size)
        offset = packed(bias.view(4, -1), kind, width=size).flatten()
        gates = torch.addmm(offset, inputs.view(-1, width), weight.t())
        hidden, cell, gates = go_forward(gates.view(steps, rows, -1), own, h, c)
        ctx.save_for_backward(inputs, weight, turned, hidden, cell, gates)
        ctx.shapes = into.shape, back.shape
        ctx.mark_non_differentiable(last := cell[-1])
        return hidden[1:], last

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, outputs: Tensor, _: Any) -> Any:
        from rebatch.kernels.packing import column_sums, unpacked
        from rebatch.kernels.recurrence import go_back

        inputs, weight, turned, hidden, cell, gates = ctx.saved_tensors
        changes = go_back(outputs.contiguous(), turned, cell, gates)
        flat = changes.view(-1, changes.shape[2])
        into, back = (
            unpacked(flat.t() @ known.reshape(len(flat), -1), rows, width, parts=4)
            for known, (rows, width) in zip((inputs, hidden[:-1]), ctx.shapes, strict=True)
        )
        bias = column_sums(flat, ctx.shapes[1][1], parts=4)
        return (flat @ weight).view(inputs.shape), into, back, bias, None, None


def fused_lstm(
    lstm: nn.LSTM, inputs: Tensor, state: State, dtype: torch.dtype = torch.bfloat16
) -> tuple[Tensor, State]:
    """Return what ``lstm(inputs, state)`` does, with matrix products in ``dtype``.

    The output is as wide as whole tiles are, with zeros where it is wider than the layer.  No
    gradient is taken of the state.
    """
    from rebatch.kernels.recurrence import ROWS, TILE

    columns, units = inputs.shape[1], lstm.hidden_size
    rows, size = _padded(columns, ROWS), _padded(units, TILE)
    found = _filled(inputs.to(dtype), rows, _padded(inputs.shape[2], TILE))
    hidden, cells = [], []
    for layer in range(lstm.num_layers):
        if layer:
            found = dropout(found, lstm.dropout, lstm.training)
        into, back, of_input, of_state = lstm.all_weights[layer]
        h, c = (_filled(part[layer].detach(), rows, size) for part in state)
        bias = of_input + of_state
        found, cell = _Layer.apply(found, into, back, bias, h, c)  # type: ignore[no-untyped-call]
        hidden.append(found[-1, :columns, :units])
        cells.append(cell[:columns, :units])
    return found[:, :columns], (torch.stack(hidden), torch.stack(cells))


def _filled(values: Tensor, rows: int, width: int) -> Tensor:
    return pad(values, (0, width - values.shape[-1], 0, rows - values.shape[-2]))


def _padded(size: int, multiple: int) -> int:
    return -(-size // multiple) * multiple
