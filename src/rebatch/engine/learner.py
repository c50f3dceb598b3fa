"""The update: a batch in, better weights out."""

from dataclasses import dataclass, field
from typing import NamedTuple

import torch
from torch import Tensor, nn

from rebatch.engine.gauges import NoiseSample, squared_norm
from rebatch.engine.precision import autocast
from rebatch.engine.task import Batch, Memory, Task, count, split
from rebatch.errors import RunError


class Outcome(NamedTuple):
    """What an update tells, still on the device."""

    loss: Tensor
    correct: Tensor | None
    norm: Tensor
    """Norm of the gradient before clipping."""
    memory: Memory
    noise: NoiseSample | None


@dataclass
class Learner:
    """A model, its optimiser and the way an update is made."""

    model: nn.Module
    optimizer: torch.optim.Optimizer
    task: Task
    device: torch.device
    precision: str = "fp32"
    clip: float | None = None
    micro_batch_size: int | None = None
    group: int = 1
    """Micro-batches hold whole groups of this many samples: the group of batch norm, else 1."""
    reports: list[str] = field(default_factory=list)
    _sizes: set[int] = field(default_factory=set)
    """Batch sizes that have been seen to fit, so that nothing has to be kept aside for them."""

    def update(self, batch: Batch, memory: Memory, rate: float, *, measure: bool) -> Outcome:
        """Make one update; when memory runs out, make the same one in smaller pieces."""
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        size = count(batch, self.task.batch_dim)
        while True:
            kept = self._keep() if size not in self._sizes else None
            try:
                outcome = self._attempt(batch, memory, measure=measure)
            except torch.cuda.OutOfMemoryError:
                self._restore(kept)
                self._halve(size)
            else:
                self._sizes.add(size)
                return outcome

    def _attempt(self, batch: Batch, memory: Memory, *, measure: bool) -> Outcome:
        dim = self.task.batch_dim
        parts = split(batch, dim, self._piece(count(batch, dim), measure=measure))
        memories = _split_memory(memory, [count(part, dim) for part in parts])
        self.optimizer.zero_grad(set_to_none=True)
        losses, corrects, norms, states = [], [], [], []
        kept: list[Tensor] = []
        for part, state in zip(parts, memories, strict=True):
            share = count(part, dim) / count(batch, dim)
            with autocast(self.precision, self.device):
                result = self.task.loss(self.model, part, state)
            (result.mean * share).backward()  # type: ignore[no-untyped-call]
            losses.append(result.mean.detach() * share)
            corrects.append(result.correct)
            states.append(result.memory)
            if measure and len(parts) > 1:
                kept = self._set_aside(kept, norms, share)
        self._put_back(kept)
        norm = self._clip()
        noise = _noise_sample(norms, norm, parts, dim)
        self.optimizer.step()
        total = torch.stack(losses).sum()
        return Outcome(total, _added(corrects), norm, _join_memory(states), noise)

    def _piece(self, size: int, *, measure: bool) -> int | None:
        """Return the micro-batch size; a measured update is cut in two where that can be."""
        limit = min(self.micro_batch_size or size, size)
        if not measure or size // limit > 1:
            return limit
        half = -(-size // 2)
        half = -(-half // self.group) * self.group
        return min(limit, half)

    def _set_aside(self, kept: list[Tensor], norms: list[Tensor], share: float) -> list[Tensor]:
        """Note the norm of this micro-batch's own gradient and collect it apart."""
        parameters = self._trained()
        own = [parameter.grad for parameter in parameters if parameter.grad is not None]
        norms.append(squared_norm(own) / share**2)
        if kept:
            torch._foreach_add_(kept, own)
        for parameter in parameters:
            parameter.grad = None
        return kept or own

    def _put_back(self, kept: list[Tensor]) -> None:
        if kept:
            for parameter, gradient in zip(self._trained(), kept, strict=True):
                parameter.grad = gradient

    def _trained(self) -> list[nn.Parameter]:
        return [parameter for parameter in self.model.parameters() if parameter.requires_grad]

    def _clip(self) -> Tensor:
        limit = float("inf") if self.clip is None else self.clip
        return nn.utils.clip_grad_norm_(self.model.parameters(), limit)

    def _keep(self) -> list[Tensor]:
        """Copy what a failed attempt would have changed: buffers, then the random state."""
        return [buffer.clone() for buffer in self.model.buffers()] + [_random_state(self.device)]

    def _restore(self, kept: list[Tensor] | None) -> None:
        self.optimizer.zero_grad(set_to_none=True)
        if kept:
            *buffers, state = kept
            for buffer, value in zip(self.model.buffers(), buffers, strict=True):
                buffer.copy_(value)
            _set_random_state(self.device, state)
        if self.device.type == "cuda":
            torch.cuda.empty_cache()

    def _halve(self, size: int) -> None:
        now = min(self.micro_batch_size or size, size)
        smaller = now // 2 // self.group * self.group
        if smaller < 1:
            raise RunError(
                f"memory does not suffice for a micro-batch of {now}"
                + (", the group of batch norm: lower norm_batch_size" if self.group > 1 else "")
            )
        self.micro_batch_size = smaller
        self.reports.append(f"out of memory: micro-batch size is now {smaller}")


def _random_state(device: torch.device) -> Tensor:
    return torch.cuda.get_rng_state(device) if device.type == "cuda" else torch.get_rng_state()


def _set_random_state(device: torch.device, state: Tensor) -> None:
    if device.type == "cuda":
        torch.cuda.set_rng_state(state, device)
    else:
        torch.set_rng_state(state)


def _split_memory(memory: Memory, sizes: list[int]) -> list[Memory]:
    if memory is None or len(sizes) == 1:
        return [memory] * len(sizes)
    return list(zip(*(tensor.split(sizes, dim=1) for tensor in memory), strict=True))


def _join_memory(states: list[Memory]) -> Memory:
    if states[0] is None:
        return None
    if len(states) == 1:
        return tuple(tensor.detach() for tensor in states[0])
    parts = [state for state in states if state is not None]
    return tuple(torch.cat(tensors, dim=1).detach() for tensors in zip(*parts, strict=True))


def _added(corrects: list[Tensor | None]) -> Tensor | None:
    known = [correct for correct in corrects if correct is not None]
    return torch.stack(known).sum() if known else None


def _noise_sample(
    norms: list[Tensor], norm: Tensor, parts: list[Batch], dim: int
) -> NoiseSample | None:
    """Return the two norms of a measured update, or none where it was one micro-batch.

    With micro-batches of different sizes the small size is their harmonic mean, because the
    expected squared norm is |G|² + tr(Σ)/b.
    """
    if len(norms) < 2:
        return None
    sizes = [count(part, dim) for part in parts]
    harmonic = len(sizes) / sum(1 / size for size in sizes)
    small = float(torch.stack(norms).mean())
    return NoiseSample(harmonic, small, float(sum(sizes)), float(norm) ** 2)
