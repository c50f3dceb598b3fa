"""Whole updates as CUDA graphs: each shape of batch is captured once and replayed from then on.

A plan knows its batch sizes before the first update and comes back to them in every cycle, so a
handful of graphs serves a whole run.  Nothing is computed to warm up: the first updates of a shape
are made in the ordinary way, count as training, and prepare what capturing needs.
"""

import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

import torch
from torch import Tensor

from rebatch.engine.gauges import NoiseSample
from rebatch.engine.outcome import Outcome
from rebatch.engine.task import Batch, Memory
from rebatch.errors import RunError

WARM_UP = 3
"""Updates of a shape that are made without a graph before it is captured."""
RARE = 300
"""A shape that comes less than once in so many updates, from its first on, is not worth a graph:
the short last batch of a long epoch, say."""

Update = Callable[[Batch, Memory, bool], Outcome]
Key = tuple[object, ...]


class _Captured(NamedTuple):
    """An update that can be replayed: on these inputs, with this outcome."""

    graph: torch.cuda.CUDAGraph
    inputs: tuple[Tensor, ...]
    outcome: Outcome


class Graphs:
    """The graphs of a run, in one pool of memory: only one of them runs at a time."""

    def __init__(self, update: Update, device: torch.device, report: Callable[[str], None]) -> None:
        """Capture ``update``, which must not read anything from the device.

        A shape that cannot be captured goes on without a graph, and ``report`` is told why.  What
        an update reads and writes must stay where it is: else `forget` what was captured.
        """
        self._update, self._report = update, report
        self._stream = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
        self._pool = torch.cuda.graph_pool_handle()
        self._made: Counter[Key] = Counter()
        self._first: dict[Key, int] = {}
        self._total = 0
        self._captured: dict[Key, _Captured] = {}
        self._memories: dict[Key, tuple[Tensor, ...]] = {}
        self.seconds = 0.0
        """Time spent on capturing."""
        self._refused: set[Key] = set()

    @property
    def captures(self) -> int:
        """How many graphs there are."""
        return len(self._captured)

    def forget(self) -> None:
        """Drop all graphs and the memory that they hold; shapes are warmed up anew.

        This is due where state that a graph works on has moved: the optimiser's, once it was
        loaded, and that of cuDNN's dropout, which is made anew after random numbers are set.
        """
        torch.cuda.synchronize(self._stream.device)
        self._captured.clear()
        self._made.clear()
        self._first.clear()
        self._pool = torch.cuda.graph_pool_handle()

    @contextmanager
    def beside(self) -> Iterator[None]:
        """Make an ordinary update on the stream that captures, as autograd wants it warmed up."""
        outside = torch.cuda.current_stream(self._stream.device)
        self._stream.wait_stream(outside)
        with torch.cuda.stream(self._stream):
            yield
        outside.wait_stream(self._stream)

    def update(self, batch: Batch, memory: Memory, *, measure: bool, way: Key) -> Outcome | None:
        """Make the update by a graph, or return none where there is none for it yet.

        ``way`` is what else decides how the update is computed.  The outcome is good until the
        next update; what the model carries on lives in tensors that the next one reads.
        """
        self._total += 1
        key = (_shapes(batch.inputs), batch.targets.shape, batch.attacked, measure, way)
        known = self._captured.get(key)
        if known is None and self._is_due(key):
            known = self._capture(key, batch, memory, measure)
        if known is None:
            return None
        _fill(known.inputs, (*batch.inputs, batch.targets, *(memory or ())))
        known.graph.replay()
        return known.outcome._replace(noise=_kept(known.outcome.noise))

    def _is_due(self, key: Key) -> bool:
        made, since = self._made[key], self._total - self._first.setdefault(key, self._total)
        self._made[key] = made + 1
        return made >= WARM_UP and made * RARE >= since and key not in self._refused

    def _capture(self, key: Key, batch: Batch, memory: Memory, measure: bool) -> _Captured | None:
        """Capture one update; where that fails, training goes on without."""
        started = time.perf_counter()
        own = self._own_memory(memory)
        inputs = tuple(torch.empty_like(tensor) for tensor in batch.inputs)
        targets = torch.empty_like(batch.targets)
        static = batch._replace(inputs=inputs, targets=targets)
        graph, outside = torch.cuda.CUDAGraph(), torch.cuda.current_stream(self._stream.device)
        try:
            with self._recording(graph), _reading_refused():
                outcome = self._update(static, own, measure)
                if own is not None and outcome.memory is not None:
                    _fill(own, outcome.memory)
        except RuntimeError as error:
            self._refuse(key, f"no CUDA graph for {tuple(targets.shape)}: {error}", outside)
            return None
        finally:
            self.seconds += time.perf_counter() - started
        captured = _Captured(graph, (*inputs, targets, *(own or ())), outcome._replace(memory=own))
        self._captured[key] = captured
        return captured

    def _recording(self, graph: torch.cuda.CUDAGraph) -> torch.cuda.graph:
        # Threads of a data loader may go on with their own work meanwhile, and memory may be asked
        # for: what would wait for the device is refused without CUDA's help.
        return torch.cuda.graph(
            graph, pool=self._pool, stream=self._stream, capture_error_mode="relaxed"
        )

    def _refuse(self, key: Key, reason: str, outside: torch.cuda.Stream) -> None:
        """Do without a graph from now on, if what was begun was ended at all."""
        reason = reason.strip().partition("\n")[0]
        if torch.cuda.current_stream(self._stream.device) != outside:
            torch.cuda.set_stream(outside)
            # The allocator and the random numbers of torch may take it for still going on.
            raise RunError(f"{reason}; nor could it be ended: go on with the engine eager")
        self._refused.add(key)
        if not self._captured:  # a pool that has lost its only graph cannot be taken up again
            self._pool = torch.cuda.graph_pool_handle()
        self._report(reason)

    def _own_memory(self, memory: Memory) -> Memory:
        """Return the tensors that hold what is carried on, the same for all graphs of a shape."""
        if memory is None:
            return None
        shape = _shapes(memory)
        if shape not in self._memories:
            self._memories[shape] = tuple(torch.empty_like(tensor) for tensor in memory)
        return self._memories[shape]


@contextmanager
def _reading_refused() -> Iterator[None]:
    """Make what waits for the device fail before CUDA sees it and breaks the capture off.

    A capture that CUDA has broken off cannot be ended, one that torch refuses to go on with can.
    """
    before = torch.cuda.get_sync_debug_mode()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch says, once, that this mode is a prototype
        torch.cuda.set_sync_debug_mode("error")
    try:
        yield
    finally:
        torch.cuda.set_sync_debug_mode(before)


def _kept(sample: NoiseSample | None) -> NoiseSample | None:
    """Return a sample of the noise that later updates do not write over."""
    if sample is None:
        return None
    return sample._replace(
        small_norm=torch.as_tensor(sample.small_norm).clone(),
        big_norm=torch.as_tensor(sample.big_norm).clone(),
    )


def _shapes(tensors: tuple[Tensor, ...]) -> Key:
    return tuple((tensor.shape, tensor.dtype, tensor.stride()) for tensor in tensors)


def _fill(own: tuple[Tensor, ...], given: tuple[Tensor, ...]) -> None:
    """Copy what is given, except where it is the very tensor already."""
    for tensor, value in zip(own, given, strict=True):
        if tensor is not value:
            tensor.copy_(value, non_blocking=True)
