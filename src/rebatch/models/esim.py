"""E1: the enhanced sequential inference model."""

import torch
from torch import Tensor, nn

from rebatch.errors import InputError, one_of, positive_int
from rebatch.models.dropout import dropout as dropout_layer
from rebatch.models.masked_lstm import MaskedBiLSTM

FORMS = ("nyu-mll", "chen")


class ESIM(nn.Module):
    """ESIM of Chen et al. (2017) for pairs of sentences, as token ids with 0 for padding.

    Form "nyu-mll" (Williams et al., 2018) encodes premise and hypothesis by LSTMs of their own and
    composes the raw features; its embedding is frozen. Form "chen" shares the LSTMs, projects the
    features and trains the embedding. ``train_embedding`` overrides that.

    >>> model = ESIM(torch.randn(100, 16), hidden=8)
    >>> premise, hypothesis = torch.randint(1, 100, (4, 7)), torch.randint(1, 100, (4, 5))
    >>> model(premise, hypothesis).shape
    torch.Size([4, 3])
    """

    def __init__(
        self,
        embedding: Tensor,
        *,
        form: str = "nyu-mll",
        hidden: int = 300,
        num_classes: int = 3,
        dropout: float = 0.5,
        train_embedding: bool | None = None,
    ) -> None:
        super().__init__()
        chen = one_of("form", form, FORMS) == "chen"
        hidden = positive_int("hidden", hidden)
        num_classes = positive_int("num_classes", num_classes)
        self.dropout = dropout_layer(dropout)
        self.embedding = _embedding(embedding, chen if train_embedding is None else train_embedding)
        # A shared LSTM is held once and found at both ends: [0] is the premise's, [-1] the other's.
        copies = range(1 if chen else 2)
        self.encoders = nn.ModuleList(MaskedBiLSTM(embedding.shape[1], hidden) for _ in copies)
        projected = hidden if chen else 8 * hidden
        self.composers = nn.ModuleList(MaskedBiLSTM(projected, hidden) for _ in copies)
        self.project: nn.Module = nn.Identity()
        if chen:
            self.project = nn.Sequential(nn.Linear(8 * hidden, hidden), nn.ReLU(), self.dropout)
        self.classify = nn.Sequential(
            self.dropout if chen else nn.Identity(),
            nn.Linear(8 * hidden, hidden),
            nn.Tanh(),
            self.dropout,
            nn.Linear(hidden, num_classes),
        )
        self.max_floor = -torch.inf if chen else 0.0
        self._initialise(chen)

    def forward(self, premise: Tensor, hypothesis: Tensor) -> Tensor:
        """Give the logits of each pair; both arguments are (pair, place), padded at the end."""
        premise_real, hypothesis_real = _real(premise), _real(hypothesis)
        a = self._encode(0, premise, premise_real)
        b = self._encode(-1, hypothesis, hypothesis_real)
        scores = a @ b.transpose(1, 2)
        a_from_b = _attend(scores, b, hypothesis_real)
        b_from_a = _attend(scores.transpose(1, 2), a, premise_real)
        pooled = (
            self._compose(0, a, a_from_b, premise_real),
            self._compose(-1, b, b_from_a, hypothesis_real),
        )
        logits: Tensor = self.classify(torch.cat(pooled, dim=1))
        return logits

    def _encode(self, side: int, tokens: Tensor, real: Tensor) -> Tensor:
        encoded: Tensor = self.encoders[side](self.dropout(self.embedding(tokens)), real)
        return encoded

    def _compose(self, side: int, own: Tensor, other: Tensor, real: Tensor) -> Tensor:
        features = self.project(torch.cat([own, other, own - other, own * other], dim=2))
        composed = self.composers[side](features, real)
        mean = composed.sum(1) / real.sum(1, keepdim=True)
        # The nyu-mll code pools over its padding too, where the output is 0; taking that 0 into
        # every maximum keeps the result the same however much padding a batch has.
        highest = composed.masked_fill(~real[..., None], -torch.inf).amax(1)
        return torch.cat([mean, highest.clamp_min(self.max_floor)], dim=1)

    def _initialise(self, chen: bool) -> None:
        start = MaskedBiLSTM.start_orthogonal if chen else MaskedBiLSTM.start_glorot
        for module in self.modules():
            if isinstance(module, MaskedBiLSTM):
                start(module)
            elif isinstance(module, nn.Linear):
                nn.init.normal_(module.weight, std=0.01 if chen else 0.1)
                nn.init.normal_(module.bias, std=0.0 if chen else 0.1)


def _embedding(matrix: Tensor, trained: bool) -> nn.Embedding:
    if matrix.dim() != 2 or not matrix.is_floating_point():
        kind = f"{tuple(matrix.shape)} of {matrix.dtype}"
        raise InputError(f"embedding must be a matrix of real numbers, got {kind}")
    embedding: nn.Embedding = nn.Embedding.from_pretrained(  # type: ignore[no-untyped-call]
        matrix.clone(), freeze=not trained, padding_idx=0
    )
    return embedding


def _real(tokens: Tensor) -> Tensor:
    # The first place always counts, so that an empty sentence is one padding word, not 0 / 0.
    return (tokens != 0) | (torch.arange(tokens.shape[1], device=tokens.device) == 0)


def _attend(scores: Tensor, values: Tensor, real: Tensor) -> Tensor:
    return scores.masked_fill(~real[:, None], -torch.inf).softmax(2) @ values
