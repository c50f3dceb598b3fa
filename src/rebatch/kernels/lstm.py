"""An ``nn.LSTM`` by `rebatch.kernels.recurrence`: the same function, sooner done on a GPU."""

import torch
from torch import Tensor, nn
from torch.nn.functional import dropout, linear, pad

State = tuple[Tensor, Tensor]
MOST_COLUMNS = 128
"""Columns up to which this is worth it: beyond, cuDNN's matrix products are large enough."""


def fused_lstm(
    lstm: nn.LSTM, inputs: Tensor, state: State, dtype: torch.dtype = torch.bfloat16
) -> tuple[Tensor, State]:
    """Return what ``lstm(inputs, state)`` does, with matrix products in ``dtype``.

    No gradient is taken of the state.
    """
    from rebatch.kernels.recurrence import TILE, block_of, recur

    columns, units = inputs.shape[1], lstm.hidden_size
    rows, size = _padded(columns, block_of(columns)), _padded(units, TILE)
    found = _filled(inputs.to(dtype), rows, _padded(inputs.shape[2], TILE))
    hidden, cells = [], []
    for layer in range(lstm.num_layers):
        if layer:
            found = dropout(found, lstm.dropout, lstm.training)
        into, back, of_input, of_state = lstm.all_weights[layer]
        bias = pad((of_input + of_state).view(4, units), (0, size - units)).flatten()
        gates = linear(found, _by_gate(into, size, found.shape[2], dtype), bias.to(dtype))
        h, c = (_filled(part[layer].detach(), rows, size) for part in state)
        found, cell = recur(gates, _by_gate(back, size, size, dtype), h, c)
        hidden.append(found[-1, :columns, :units])
        cells.append(cell[:columns, :units])
    return found[:, :columns, :units], (torch.stack(hidden), torch.stack(cells))


def _by_gate(weight: Tensor, size: int, width: int, dtype: torch.dtype) -> Tensor:
    """Return the weight of four gates with each gate padded by itself."""
    units, own = len(weight) // 4, weight.shape[1]
    gates = weight.to(dtype).view(4, units, own)
    return pad(gates, (0, width - own, 0, size - units)).view(4 * size, width)


def _filled(values: Tensor, rows: int, width: int) -> Tensor:
    return pad(values, (0, width - values.shape[-1], 0, rows - values.shape[-2]))


def _padded(size: int, multiple: int) -> int:
    return -(-size // multiple) * multiple
