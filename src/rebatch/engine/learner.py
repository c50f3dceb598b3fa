"""The update: a batch in, better weights out."""

from dataclasses import dataclass, field
from typing import NamedTuple

import torch
from torch import Tensor, nn

from rebatch.engine.gauges import MicroGradients, NoiseSample, squared_norm
from rebatch.engine.precision import autocast
from rebatch.engine.spare import Spare
from rebatch.engine.task import Batch, Memory, Task, count, joined, split
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
    _reports: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._spare = Spare(self.model, self.device)

    def update(self, batch: Batch, memory: Memory, rate: float, *, measure: bool) -> Outcome:
        """Make one update; when memory runs out, make the same one in smaller pieces.

        ``measure`` samples the gradient noise, which takes two micro-batches at least.
        """
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self._spare.keep()
        while (outcome := self._attempt(batch, memory, measure=measure)) is None:
            self._spare.restore()
            self._halve(count(batch, self.task.batch_dim))
        self.optimizer.step()
        return outcome

    def is_finite(self) -> bool:
        """Tell whether all weights are numbers; this waits for the device."""
        largest = torch._foreach_norm(list(self.model.parameters()), torch.inf)
        return bool(torch.stack(largest).isfinite().all())

    def report(self, note: str) -> None:
        """Note something for the log."""
        self._reports.append(note)

    def pop_reports(self) -> list[str]:
        """Return what there is to say since the last time."""
        reports, self._reports = self._reports, []
        return reports

    def _attempt(self, batch: Batch, memory: Memory, *, measure: bool) -> Outcome | None:
        # The retry comes after this returns: until then the error holds on to what was computed.
        try:
            return self._gradient(batch, memory, measure=measure)
        except torch.cuda.OutOfMemoryError:
            self.optimizer.zero_grad(set_to_none=True)
            return None

    def _gradient(self, batch: Batch, memory: Memory, *, measure: bool) -> Outcome:
        dim = self.task.batch_dim
        total = count(batch, dim)
        parts = self._parts(batch, memory, self._piece(total, measure=measure))
        apart = MicroGradients(self.model) if measure and len(parts) > 1 else None
        results = []
        self.optimizer.zero_grad(set_to_none=True)
        for part, state in parts:
            size = count(part, dim)
            with autocast(self.precision, self.device):
                result = self.task.loss(self.model, part, state)
            weighted = result.mean * (size / total)
            weighted.backward()  # type: ignore[no-untyped-call]
            results.append(result._replace(mean=weighted.detach()))
            if apart:
                apart.take(size, size / total)
        if apart:
            apart.put_back()
        norm = self._clipped_norm()
        corrects = [result.correct for result in results if result.correct is not None]
        return Outcome(
            _added([result.mean for result in results]),
            _added(corrects) if corrects else None,
            norm,
            joined([result.memory for result in results]),
            apart.sample(norm) if apart else None,
        )

    def _parts(self, batch: Batch, memory: Memory, size: int) -> list[tuple[Batch, Memory]]:
        with autocast(self.precision, self.device):
            return [
                (self.task.prepare(self.model, part), state)
                for part, state in split(batch, memory, self.task.batch_dim, size)
            ]

    def _piece(self, size: int, *, measure: bool) -> int:
        """Return the micro-batch size; a measured update is cut in two where that can be."""
        limit = min(self.micro_batch_size or size, size)
        if not measure or limit < size:
            return limit
        groups = -(-size // self.group)
        return min(limit, -(-groups // 2) * self.group)

    def _clipped_norm(self) -> Tensor:
        """Clip the gradient and return the norm it had before."""
        if self.clip is not None:
            return nn.utils.clip_grad_norm_(self.model.parameters(), self.clip)
        own = [p.grad for p in self.model.parameters() if p.grad is not None]
        return squared_norm(own).sqrt()

    def _halve(self, size: int) -> None:
        now = min(self.micro_batch_size or size, size)
        smaller = max(now // 2 // self.group, 1) * self.group
        if smaller >= now:
            group = ", the group of batch norm: lower norm_batch_size" if self.group > 1 else ""
            raise RunError(f"memory does not suffice for a micro-batch of {now}{group}")
        self.micro_batch_size = smaller
        self._reports.append(f"out of memory: micro-batch size is now {smaller}")
        if self.device.type == "cuda":
            torch.cuda.empty_cache()


def _added(values: list[Tensor]) -> Tensor:
    return values[0] if len(values) == 1 else torch.stack(values).sum()
