"""L1 and L2: LSTM language models."""

from functools import partial

from torch import Tensor, nn

from rebatch.errors import positive_int, positive_number
from rebatch.kernels import MOST_COLUMNS, aligned_linear, fused_lstm
from rebatch.models.dropout import dropout as dropout_layer

State = tuple[Tensor, Tensor]


class LanguageModel(nn.Module):
    """The LSTM of Zaremba et al. (2014), with dropout before, between and after its layers.

    Embedding and decoder are not tied and start uniform in ±0.1, the decoder's bias at 0 and the
    LSTM at PyTorch's default; with ``uniform`` every parameter starts uniform in ±``uniform``.

    >>> import torch
    >>> model = LanguageModel(vocabulary=100, hidden=8)
    >>> logits, state = model(torch.zeros(35, 20, dtype=torch.long), model.initial_state(20))
    >>> logits.shape
    torch.Size([35, 20, 100])
    """

    family = "text"
    """Of the kernels, for `rebatch.models.fuse`."""
    fused = False
    """Whether training is in bf16 by `rebatch.kernels`, at the batch sizes that gain from it."""

    def __init__(
        self,
        vocabulary: int,
        hidden: int,
        *,
        layers: int = 2,
        dropout: float = 0.5,
        uniform: float | None = None,
    ) -> None:
        super().__init__()
        vocabulary = positive_int("vocabulary", vocabulary)
        hidden = positive_int("hidden", hidden)
        layers = positive_int("layers", layers)
        self.dropout = dropout_layer(dropout)
        self.embedding = nn.Embedding(vocabulary, hidden)
        # With one layer there is no "between", and nn.LSTM warns.
        between = dropout if layers > 1 else 0.0
        self.lstm = nn.LSTM(hidden, hidden, layers, dropout=between)
        self.decoder = nn.Linear(hidden, vocabulary)
        self._initialise(uniform)

    def forward(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        """Give the logits of what follows each of ``tokens`` (time, column), and the new state."""
        fused = self.fused and self.training
        narrow = tokens.shape[1] <= MOST_COLUMNS
        run = partial(fused_lstm, self.lstm) if fused and narrow else self.lstm
        output, (hidden, cell) = run(self.dropout(self.embedding(tokens)), state)
        decode = partial(aligned_linear, self.decoder) if fused else self.decoder
        logits: Tensor = decode(self.dropout(output))
        # Autocast gives the state in its own precision; the next call wants what it began with.
        return logits, (hidden.to(state[0].dtype), cell.to(state[1].dtype))

    def initial_state(self, batch_size: int) -> State:
        """Give the zero state of ``batch_size`` columns."""
        batch_size = positive_int("batch_size", batch_size)
        shape = (self.lstm.num_layers, batch_size, self.lstm.hidden_size)
        weight = self.decoder.weight
        return weight.new_zeros(shape), weight.new_zeros(shape)

    def _initialise(self, uniform: float | None) -> None:
        if uniform is not None:
            uniform = positive_number("uniform", uniform)
            for parameter in self.parameters():
                nn.init.uniform_(parameter, -uniform, uniform)
            return
        nn.init.uniform_(self.embedding.weight, -0.1, 0.1)
        nn.init.uniform_(self.decoder.weight, -0.1, 0.1)
        nn.init.zeros_(self.decoder.bias)
