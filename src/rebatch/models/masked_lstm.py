"""A bidirectional LSTM that does not see padding."""

import math

import torch
from torch import Tensor, nn


class MaskedBiLSTM(nn.Module):
    """Run an LSTM both ways over the real places of each sequence; padded places give 0.

    The way back reads each sequence turned round within its own length. Unlike packed sequences
    this needs no lengths on the host, so a whole update can be captured as a CUDA graph.
    """

    def __init__(self, inputs: int, hidden: int) -> None:
        super().__init__()
        self.ahead = nn.LSTM(inputs, hidden, batch_first=True)
        self.back = nn.LSTM(inputs, hidden, batch_first=True)

    def forward(self, inputs: Tensor, real: Tensor) -> Tensor:
        """Give (sequence, place, 2 * hidden); ``real`` is false at the padded end of a sequence."""
        place = torch.arange(real.shape[1], device=real.device)
        mirror = torch.where(real, real.sum(1, keepdim=True) - 1 - place, place)[..., None]
        ahead, _ = self.ahead(inputs)
        back, _ = self.back(inputs.take_along_dim(mirror, dim=1))
        return torch.cat([ahead, back.take_along_dim(mirror, dim=1)], dim=2) * real[..., None]

    def start_glorot(self) -> None:
        """Start as in TensorFlow: ±sqrt(6 / (in + out)) of the joint kernel, forget bias 1."""
        for lstm in (self.ahead, self.back):
            hidden = lstm.hidden_size
            bound = math.sqrt(6 / (lstm.input_size + hidden + 4 * hidden))
            from_inputs, from_hidden, bias, second_bias = lstm.all_weights[0]
            nn.init.uniform_(from_inputs, -bound, bound)
            nn.init.uniform_(from_hidden, -bound, bound)
            nn.init.zeros_(second_bias)
            nn.init.zeros_(bias).detach()[hidden : 2 * hidden] = 1

    def start_orthogonal(self) -> None:
        """Start as in Chen et al.: inputs N(0, 0.01²), an orthogonal matrix a gate, biases 0."""
        for lstm in (self.ahead, self.back):
            from_inputs, from_hidden, *biases = lstm.all_weights[0]
            nn.init.normal_(from_inputs, std=0.01)
            for gate in from_hidden.detach().chunk(4):
                nn.init.orthogonal_(gate)
            for bias in biases:
                nn.init.zeros_(bias)
