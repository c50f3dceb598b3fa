"""What the ranks tell each other in an update: once, after the last micro-batch of each."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from rebatch.engine.ranks import Ranks
from rebatch.engine.statistics import RunningStatistics


class Exchange:
    """One sum over the ranks: the gradient, the figures and the statistics of batch norm.

    Every rank weights its losses by the samples of the whole update, so the sum is the gradient
    of the mean over all of them, however unevenly they are spread.
    """

    def __init__(self, model: nn.Module, ranks: Ranks, group: int) -> None:
        """Prepare for a model whose batch norm takes groups of ``group`` samples."""
        self._model, self._ranks, self._group = model, ranks, group
        self._statistics = RunningStatistics(model) if ranks.size > 1 else None

    def keep(self) -> None:
        """Remember the statistics of batch norm before an update."""
        if self._statistics is not None:
            self._statistics.keep()

    def add(self, figures: Sequence[Tensor | float], total: int) -> list[Tensor]:
        """Put the gradient of an update of ``total`` samples in place and return the figures' sums.

        A parameter without a gradient on this rank counts as one with zeros.
        """
        gradients = [self._gradient(p) for p in self._model.parameters() if p.requires_grad]
        first = gradients[0]
        own = torch.stack([torch.as_tensor(figure).to(first) for figure in figures])
        here, behind, groups = self._groups(total)
        assert self._statistics is not None
        added = self._statistics.added(here, behind)
        self._ranks.add([*gradients, own, *added])
        self._statistics.settle(added, groups, here)
        return list(own.unbind())

    def _gradient(self, parameter: nn.Parameter) -> Tensor:
        if parameter.grad is None:
            parameter.grad = torch.zeros_like(parameter)
        return parameter.grad

    def _groups(self, total: int) -> tuple[int, int, int]:
        """Return the groups of an update on this rank, on those behind it, and in all."""
        start, stop = self._ranks.span(total, self._group)
        here, behind = (-(-samples // self._group) for samples in (stop - start, total - stop))
        return here, behind, -(-total // self._group)
