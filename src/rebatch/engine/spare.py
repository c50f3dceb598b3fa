"""What an attempt at an update changes before the weights: buffers and random numbers."""

import torch
from torch import Tensor, nn


class Spare:
    """A copy to go back to when an attempt fails half-way.

    It is taken before every update, because memory may run out at any of them: so it is held in
    tensors of its own and copied with one call a type, not allocated each time.
    """

    def __init__(self, model: nn.Module, device: torch.device) -> None:
        self._model, self._device = model, device
        self._copies: list[tuple[list[Tensor], list[Tensor]]] | None = None
        self._random = torch.empty(0)

    def keep(self) -> None:
        """Copy the state as it is now."""
        self.keep_buffers()
        on_gpu = self._device.type == "cuda"
        self._random = torch.cuda.get_rng_state(self._device) if on_gpu else torch.get_rng_state()

    def keep_buffers(self) -> None:
        """Copy the buffers alone."""
        if self._copies is None:
            self._copies = [(own, [b.clone() for b in own]) for own in _by_type(self._model)]
        for own, copies in self._copies:
            torch._foreach_copy_(copies, own)

    def restore(self) -> None:
        """Go back to the copy."""
        self.restore_buffers()
        if self._device.type == "cuda":
            torch.cuda.set_rng_state(self._random, self._device)
        else:
            torch.set_rng_state(self._random)

    def restore_buffers(self) -> None:
        """Go back to the copy of the buffers alone."""
        for own, copies in self._copies or []:
            torch._foreach_copy_(own, copies)


def _by_type(model: nn.Module) -> list[list[Tensor]]:
    found: dict[torch.dtype, list[Tensor]] = {}
    for buffer in model.buffers():
        found.setdefault(buffer.dtype, []).append(buffer)
    return list(found.values())
