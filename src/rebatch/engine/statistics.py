"""Running statistics of batch norm, when the groups of an update lie on several ranks.

A process alone lets group after group move them: r ← d·r + (1 − d)·s with d = 1 − momentum.  That
is linear, so a rank that starts at r₀ and sees n groups ends at r = dⁿ·r₀ + c, and c is all that
its groups add.  With m groups on the ranks behind it, and N in all, the update ends at
dᴺ·r₀ + Σ dᵐ·c, whatever the ranks: one sum, which travels with the gradient.
"""

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm


class RunningStatistics:
    """The running statistics of a model, as they were and as the groups of this rank move them."""

    def __init__(self, model: nn.Module) -> None:
        found = (module for module in model.modules() if isinstance(module, _BatchNorm))
        self._layers = [layer for layer in found if layer.running_mean is not None]
        self._before = [tensor.clone() for tensor in self._running()]

    def keep(self) -> None:
        """Remember them before an update."""
        if self._before:
            torch._foreach_copy_(self._before, self._running())

    @torch.no_grad()
    def added(self, here: int, behind: int) -> list[Tensor]:
        """Return what the ``here`` groups of this rank add, before ``behind`` groups of others."""
        rows = zip(self._running(), self._before, self._kept_shares(), strict=True)
        return [share**behind * (now - share**here * before) for now, before, share in rows]

    @torch.no_grad()
    def settle(self, added: list[Tensor], total: int, here: int) -> None:
        """Set them to where all ``total`` groups in turn would, from the sums of what was added."""
        rows = zip(self._running(), self._before, added, self._kept_shares(), strict=True)
        for now, before, more, share in rows:
            now.copy_(share**total * before + more)
        for layer in self._layers:
            if layer.num_batches_tracked is not None:
                layer.num_batches_tracked.add_(total - here)

    def _running(self) -> list[Tensor]:
        pairs = ((layer.running_mean, layer.running_var) for layer in self._layers)
        return [tensor for pair in pairs for tensor in pair if tensor is not None]

    def _kept_shares(self) -> list[float]:
        """Return d for each of them."""
        return [1 - (layer.momentum or 0.0) for layer in self._layers for _ in range(2)]
