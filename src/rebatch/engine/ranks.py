"""The processes that make one run together: what each computes, and how they agree.

A process alone is a `Ranks` of one, and nothing here then touches ``torch.distributed``.
"""

import hashlib
import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import torch
from torch import Tensor

from rebatch.data._cut import Share
from rebatch.errors import InputError, RunError, shown

Value = TypeVar("Value")


@dataclass(frozen=True)
class Ranks:
    """One of the processes of a run; the first of them writes."""

    rank: int = 0
    size: int = 1
    seed: int = 0

    @property
    def is_first(self) -> bool:
        """Whether this process is the one that writes."""
        return self.rank == 0

    def span(self, total: int, group: int = 1) -> tuple[int, int]:
        """Return where this rank's samples of ``total`` start and stop: whole groups of them.

        Ranks follow each other and the first ones take what does not divide.

        >>> [Ranks(rank, 3).span(10) for rank in range(3)]
        [(0, 4), (4, 7), (7, 10)]
        >>> [Ranks(rank, 3).span(10, group=4) for rank in range(3)]
        [(0, 4), (4, 8), (8, 10)]
        """
        start, stop = Share(self.rank, self.size).of(-(-total // group))
        return min(start * group, total), min(stop * group, total)

    def own(self, total: int) -> slice:
        """Return this rank's part of what is judged; one with nothing takes what `joined` drops."""
        start, stop = self.span(total)
        return slice(start, stop) if stop > start else slice(0, 1)

    def joined(self, part: Tensor, dim: int, total: int) -> Tensor:
        """Return the parts that `own` cut, side by side again on every rank."""
        if self.size == 1:
            return part
        start, stop = self.span(total)
        shape = [*part.shape[:dim], total, *part.shape[dim + 1 :]]
        kind = torch.uint8 if part.dtype == torch.bool else part.dtype
        whole = torch.zeros(shape, dtype=kind, device=part.device)
        whole.narrow(dim, start, stop - start).copy_(part.narrow(dim, 0, stop - start))
        self.add([whole])
        return whole

    @torch.no_grad()
    def add(self, tensors: Sequence[Tensor]) -> None:
        """Replace tensors by their sums over the ranks: one exchange for each type."""
        if self.size == 1:
            return
        for alike in _by_type(tensors):
            flat = torch.cat([tensor.reshape(-1) for tensor in alike])
            self._all_reduce(flat, "SUM")
            parts = torch.split(flat, [tensor.numel() for tensor in alike])
            views = [part.view(own.shape) for part, own in zip(parts, alike, strict=True)]
            torch._foreach_copy_(alike, views)

    def copy_first(self, tensors: Sequence[Tensor]) -> None:
        """Give all ranks the tensors of the first, bit for bit."""
        for tensor in () if self.is_first else tensors:
            tensor.detach().zero_()
        self.add(tensors)

    def highest(self, *values: int) -> tuple[int, ...]:
        """Return the largest of each value over the ranks, without a look at the device."""
        if self.size == 1:
            return values
        found = torch.tensor(values)
        self._all_reduce(found, "MAX")
        return tuple(found.tolist())

    def any(self, fact: bool) -> bool:
        """Tell whether something is so on at least one rank."""
        return bool(self.highest(int(fact))[0])

    def first_does(self, function: Callable[[], Value]) -> Value:
        """Let the first rank alone do something; all wait, and share its value or its error."""
        if self.size == 1:
            return function()
        done, error = _tried(function) if self.is_first else (None, None)
        result: Value = self._shared(done, error)[0]
        return result

    def all_do(self, function: Callable[[], Value]) -> Value:
        """Do something on every rank; an error on one of them is raised on all."""
        if self.size == 1:
            return function()
        done, error = _tried(function)
        self._shared(None, error)
        return done  # type: ignore[return-value]

    def demand_same(self, values: Mapping[str, Any]) -> None:
        """Raise on all ranks where a value is not the same on each."""
        first, *others = self._gathered(dict(values))
        for rank, found in enumerate(others, start=1):
            for name in first:
                if found[name] != first[name]:
                    got = f"{shown(first[name])} on rank 0 and {shown(found[name])} on rank {rank}"
                    raise InputError(f"{name} must be the same on all ranks, got {got}")

    def seed_update(self, update: int) -> None:
        """Give dropout numbers of this rank's own; the first goes on as a process alone does."""
        if self.is_first:
            return
        text = f"rank/{self.seed}/{self.rank}/{update}"
        digest = hashlib.blake2b(text.encode(), digest_size=4).digest()
        torch.manual_seed(int.from_bytes(digest, "big"))

    def _shared(self, done: Any, error: Exception | None) -> list[Any]:
        """Return what each rank has done, or raise what went wrong on the first that failed."""
        told = None if error is None else (isinstance(error, InputError), str(error))
        results = self._gathered((done, told))
        if error is not None:
            raise error
        for rank, (_, failed) in enumerate(results):
            if failed is not None:
                kind = InputError if failed[0] else RunError
                raise kind(f"{failed[1]} (on rank {rank})")
        return [done for done, _ in results]

    def _gathered(self, value: Any) -> list[Any]:
        if self.size == 1:
            return [value]
        said = pickle.dumps(value)
        (longest,) = self.highest(len(said))
        rows = torch.zeros(self.size, longest, dtype=torch.uint8)
        rows[self.rank, : len(said)] = torch.frombuffer(bytearray(said), dtype=torch.uint8)
        self._all_reduce(rows, "SUM")
        return [pickle.loads(row.numpy().tobytes()) for row in rows]

    def _all_reduce(self, tensor: Tensor, operation: str) -> None:
        from torch import distributed

        with _answered():
            distributed.all_reduce(tensor, getattr(distributed.ReduceOp, operation))


ALONE = Ranks()


def _by_type(tensors: Sequence[Tensor]) -> list[list[Tensor]]:
    found: dict[torch.dtype, list[Tensor]] = {}
    for tensor in tensors:
        found.setdefault(tensor.dtype, []).append(tensor)
    return list(found.values())


def _tried(function: Callable[[], Value]) -> tuple[Value | None, Exception | None]:
    try:
        return function(), None
    except Exception as error:
        return None, error


@contextmanager
def _answered() -> Iterator[None]:
    """Say it in one line where another rank is gone."""
    try:
        yield
    except RuntimeError as error:  # what torch.distributed raises, DistBackendError included
        raise RunError("another rank has left or does not answer: look at its own line") from error
