"""The update: a batch in, better weights out."""

from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from rebatch.engine.casting import cast_together
from rebatch.engine.exchange import Exchange
from rebatch.engine.gauges import MicroGradients, NoiseSample, sample_of_ranks, squared_norm
from rebatch.engine.graphs import Graphs
from rebatch.engine.outcome import Outcome
from rebatch.engine.precision import autocast, choose_engine
from rebatch.engine.ranks import ALONE, Ranks
from rebatch.engine.shortage import is_shortage
from rebatch.engine.spare import Spare
from rebatch.engine.task import Batch, Loss, Memory, Task, count, joined, own_part, split, whole
from rebatch.errors import RunError


class _Share(NamedTuple):
    """What the samples of this rank add to an update, beside their gradient."""

    loss: Tensor
    correct: Tensor | None
    memory: Memory
    apart: MicroGradients | None
    noise: NoiseSample | None
    """Where it was sampled beside the update."""


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
    ranks: Ranks = ALONE
    engine: str = "eager"
    """One of `precision.ENGINES`."""
    _reports: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        choose_engine(self.engine, self.device, self.ranks.size)
        self._spare = Spare(self.model, self.device)
        self._exchange = Exchange(self.model, self.ranks, self.group)
        self._forward: Any = self.model  # or what computes the same, sooner
        self.graphs: Graphs | None = None
        if self.engine != "eager":
            self._prepare_graphs()

    def update(self, batch: Batch, memory: Memory, rate: float, *, measure: bool) -> Outcome:
        """Make one update; when memory runs out, make the same one in smaller pieces.

        ``measure`` samples the gradient noise, which takes two micro-batches at least.  Of several
        ranks each gives its part of the update; they meet after the last micro-batch.
        """
        self._set_rate(rate)
        if self.graphs is None:
            return self._update(batch, memory, measure=measure)
        way = (self.micro_batch_size, self.model.training)
        outcome = self.graphs.update(batch, memory, measure=measure, way=way)
        if outcome is None:
            with self.graphs.beside():
                outcome = self._update(batch, memory, measure=measure)
        return outcome

    def own_part(self, batch: Batch) -> Batch:
        """Return what this rank computes of an update."""
        return own_part(batch, self.task.batch_dim, self.ranks, self.group)

    def largest_share(self, total: int) -> int:
        """Return the most samples that a rank has in an update of ``total``: those of the first."""
        return replace(self.ranks, rank=0).span(total, self.group)[1]

    def whole_memory(self, memory: Memory, columns: int) -> Memory:
        """Return what the models of all ranks carry, side by side as one process has it."""
        if memory is None or self.ranks.size == 1:
            return memory
        start, stop = self.ranks.span(columns)
        known = self.task.memory(self.model, columns)
        assert known is not None
        for tensor, own in zip(known, memory, strict=True):
            tensor[:, start:stop] = own
        self.ranks.add(known)
        return known

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

    def _update(self, batch: Batch, memory: Memory, *, measure: bool) -> Outcome:
        total = whole(batch, self.task.batch_dim)
        self._spare.keep()
        self._exchange.keep()
        # Where memory suffices on some ranks alone, all of them go back.
        while self.ranks.any((share := self._attempt(batch, memory, measure=measure)) is None):
            self._spare.restore()
            if self.graphs is not None:
                self.graphs.forget()
            self._halve(self.largest_share(total))
        assert share is not None
        outcome = self._outcome(share, total)
        self.optimizer.step()
        return outcome

    def _prepare_graphs(self) -> None:
        if self.engine == "compiled":
            torch._dynamo.config.cache_size_limit = 64  # as many shapes as a plan may have
            self._forward = torch.compile(self.model, dynamic=False)
        elif self.precision == "bf16":
            self._forward = cast_together(self.model)
        graphs = self.graphs = Graphs(self._captured, self.device, self.report)
        self._rate, self._rate_is = torch.zeros((), device=self.device), 0.0
        self.optimizer.register_load_state_dict_post_hook(lambda _: graphs.forget())

    def _captured(self, batch: Batch, memory: Memory, measure: bool) -> Outcome:
        """Make one update on one device, without a look at anything that it computes."""
        if measure:
            self._spare.keep_buffers()
        share = self._gradient(batch, memory, measure=measure)
        outcome = self._outcome(share, count(batch, self.task.batch_dim))
        self.optimizer.step()
        return outcome

    def _set_rate(self, rate: float) -> None:
        """Set the learning rate: for graphs in a tensor, which they read."""
        held: Tensor | float = rate
        if self.graphs is not None:
            if rate != self._rate_is:
                self._rate.fill_(rate)
                self._rate_is = rate
            held = self._rate
        for group in self.optimizer.param_groups:
            group["lr"] = held

    def _attempt(self, batch: Batch, memory: Memory, *, measure: bool) -> _Share | None:
        # The retry comes after this returns: until then the error holds on to what was computed.
        try:
            return self._gradient(batch, memory, measure=measure)
        except (MemoryError, RuntimeError) as error:
            if not is_shortage(error):
                raise
            self.optimizer.zero_grad(set_to_none=True)
            return None

    def _gradient(self, batch: Batch, memory: Memory, *, measure: bool) -> _Share:
        dim = self.task.batch_dim
        total, alone = whole(batch, dim), self.ranks.size == 1
        parts = self._parts(batch, memory, self._piece(count(batch, dim), measure=measure))
        several = len(parts) > 1 or not alone
        apart = MicroGradients(self.model) if measure and several else None
        results = []
        self.optimizer.zero_grad(set_to_none=True)
        noise = self._noise_of_halves(*parts[0]) if measure and not several else None
        for part, state in parts:
            size = count(part, dim)
            results.append(self._learn(part, state, size / total))
            if apart:
                apart.take(size, size / total)
        if apart:
            apart.put_back()
        corrects = [result.correct for result in results if result.correct is not None]
        return _Share(
            _added([result.mean for result in results]) if results else self._zero(),
            _added(corrects) if corrects else None,
            joined([result.memory for result in results]) if results else memory,
            apart,
            noise,
        )

    def _learn(self, part: Batch, memory: Memory, share: float) -> Loss:
        """Add the gradient of a micro-batch that is ``share`` of its update."""
        with autocast(self.precision, self.device):
            result = self.task.loss(self._forward, part, memory)
        weighted = result.mean * share
        weighted.backward()  # type: ignore[no-untyped-call]
        return result._replace(mean=weighted.detach())

    def _noise_of_halves(self, batch: Batch, memory: Memory) -> NoiseSample | None:
        """Sample the noise of an update that cannot be cut: a single group of batch norm.

        Its halves, each with statistics of its own, are looked at and forgotten, so that to
        measure does not change what is learnt.
        """
        dim = self.task.batch_dim
        total = count(batch, dim)
        if total < 2:
            return None
        halves = MicroGradients(self.model)
        for half, state in split(batch, memory, dim, -(-total // 2)):
            share = count(half, dim) / total
            self._learn(half, state, share)
            halves.take(count(half, dim), share)
        halves.put_back()
        sample = halves.sample(self._norm())
        self.optimizer.zero_grad(set_to_none=True)
        self._spare.restore_buffers()
        return sample

    def _outcome(self, share: _Share, total: int) -> Outcome:
        """Return the outcome of the whole update, its gradient in place and clipped."""
        loss, correct, memory, apart, noise = share
        if self.ranks.size == 1:
            norm = self._clipped_norm()
            return Outcome(loss, correct, norm, memory, apart.sample(norm) if apart else noise)
        sums = [loss, 0.0 if correct is None else correct, *(apart.sums() if apart else [])]
        loss, correct, *norms = self._exchange.add(sums, total)
        norm = self._clipped_norm()
        sample = sample_of_ranks(torch.stack(norms), total, norm) if norms else None
        return Outcome(loss, correct, norm, memory, sample)

    def _zero(self) -> Tensor:
        return torch.zeros((), device=self.device)

    def _parts(self, batch: Batch, memory: Memory, size: int) -> list[tuple[Batch, Memory]]:
        with autocast(self.precision, self.device):
            return [
                (self.task.prepare(self.model, part), state)
                for part, state in split(batch, memory, self.task.batch_dim, size)
            ]

    def _piece(self, size: int, *, measure: bool) -> int:
        """Return the micro-batch size; a measured update is cut in two where that can be.

        Several ranks are several micro-batches already.
        """
        limit = min(self.micro_batch_size or size, size)
        if not measure or limit < size or self.ranks.size > 1:
            return limit
        groups = -(-size // self.group)
        return min(limit, -(-groups // 2) * self.group)

    def _clipped_norm(self) -> Tensor:
        """Clip the gradient and return the norm it had before."""
        if self.clip is not None:
            return nn.utils.clip_grad_norm_(self.model.parameters(), self.clip)
        return self._norm()

    def _norm(self) -> Tensor:
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
