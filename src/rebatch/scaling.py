"""What a plan costs on many ranks: a simulation, from update times and a model of the network.

An update of B samples is cut over R ranks; the largest share, ``s = ceil(B / R)``, is computed in
``k = ceil(s / M)`` micro-batches.  Where batch norm takes groups of G samples, ranks have whole
groups: ``s = min(B, G ceil(ceil(B / G) / R))``.  With ``t(b) = a + c b`` for b samples at once::

    compute    = k a + c s                                    the slowest rank decides
    exchange   = 2 (R - 1) / R * bytes / bandwidth + 2 (R - 1) * latency     a ring, once an update
    update     = compute + exchange                           nothing overlaps
    efficiency = time on one rank / (R * time on R ranks)
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

from rebatch._amount import Tokens
from rebatch._plan import Plan, Portion, baseline, possible_baseline
from rebatch._update_times import PRESETS as PRESETS
from rebatch._update_times import UpdateTimes as UpdateTimes
from rebatch._update_times import fit as fit
from rebatch._update_times import preset as preset
from rebatch._update_times import read as read
from rebatch.errors import InputError, hold_plain, positive_int, positive_number

BYTES_OF_A_GRADIENT = 4
"""Gradients are exchanged in single precision."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """A ring in which every rank passes on parts of the gradient of ``parameters`` numbers.

    >>> round(Network(parameters=1_000_000, gigabytes=10, microseconds=5).seconds(8) * 1e6)
    770
    """

    parameters: int
    gigabytes: float
    """Bandwidth between neighbours, in 10^9 bytes a second."""
    microseconds: float = 0.0
    """Latency of one message."""

    def __post_init__(self) -> None:
        hold_plain(self)
        positive_int("parameters", self.parameters)
        positive_number("network", self.gigabytes)
        positive_number("latency", self.microseconds, zero=True)

    def seconds(self, ranks: int) -> float:
        """Return how long the exchange of one update takes."""
        sent = 2 * (ranks - 1) / ranks * self.parameters * BYTES_OF_A_GRADIENT
        return sent / (self.gigabytes * 1e9) + 2 * (ranks - 1) * self.microseconds / 1e6


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """``ranks`` devices that compute at most ``micro_batch_size`` samples at once."""

    ranks: int
    micro_batch_size: int | None = None
    norm_batch_size: int = 1
    """The group of batch norm, which lies on one rank; 1 where there is none."""
    times: UpdateTimes | None = None
    network: Network | None = None

    def __post_init__(self) -> None:
        hold_plain(self)
        positive_int("ranks", self.ranks)
        group = positive_int("norm_batch_size", self.norm_batch_size)
        size = self.micro_batch_size
        if size is not None and positive_int("micro_batch_size", size) % group:
            rule = f"a multiple of {group}, the group of batch norm"
            raise InputError(f"micro_batch_size must be {rule}, got {size}")
        if self.network and not self.times:
            raise InputError("update_times must be given with network, got none")

    def share(self, batch_size: int) -> int:
        """Return the samples of the rank that has most of an update.

        >>> [Cluster(ranks=8, norm_batch_size=size).share(256) for size in (1, 48, 256)]
        [32, 48, 256]
        """
        groups = -(-batch_size // self.norm_batch_size)
        return min(batch_size, -(-groups // self.ranks) * self.norm_batch_size)

    def pieces(self, batch_size: int) -> int:
        """Return how many micro-batches every rank makes of an update.

        >>> [Cluster(ranks=8, micro_batch_size=32).pieces(size) for size in (5, 256, 257)]
        [1, 1, 2]
        """
        share = self.share(batch_size)
        return -(-share // (self.micro_batch_size or share))

    def idle(self, batch_size: int) -> float:
        """Return the part of the ranks' time that computes no sample that counts.

        >>> [Cluster(ranks=8).idle(size) for size in (4, 8, 12)]
        [0.5, 0.0, 0.25]
        """
        return 1 - batch_size / (self.ranks * self.share(batch_size))

    def compute(self, batch_size: int) -> float:
        """Return the seconds in which the slowest rank computes its share of an update."""
        assert self.times
        return self.times.seconds(self.share(batch_size), self.pieces(batch_size))

    @property
    def exchange(self) -> float:
        """The seconds in which the ranks exchange the gradients of an update."""
        return self.network.seconds(self.ranks) if self.network else 0.0

    def alone(self) -> "Cluster":
        """Return one such device."""
        return replace(self, ranks=1, network=None)

    def seconds(self, sizes: Counter[int]) -> float:
        """Return the seconds of so many updates of each size."""
        return sum(count * (self.compute(size) + self.exchange) for size, count in sizes.items())


@dataclass(frozen=True, slots=True)
class Cost:
    """Seconds on all ranks, and on one of them alone."""

    ranks: int
    seconds: float
    alone: float

    @property
    def efficiency(self) -> float:
        """The speed-up over one rank, divided by the ranks."""
        return self.alone / (self.ranks * self.seconds)


@dataclass(frozen=True, slots=True)
class Step:
    """A step of the cycle, in all cycles together."""

    step: int
    batch_size: int
    epochs: float
    updates: int
    cost: Cost | None
    """Of all its updates; None without update times."""


@dataclass(frozen=True)
class Scaling:
    """A plan on a cluster.  Made by `simulate`."""

    cluster: Cluster
    steps: tuple[Step, ...]

    @cached_property
    def cost(self) -> Cost | None:
        """The cost of the whole plan."""
        costs = [step.cost for step in self.steps if step.cost]
        if not costs:
            return None
        alone = sum(cost.alone for cost in costs)
        return Cost(self.cluster.ranks, sum(cost.seconds for cost in costs), alone)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON-ready values."""
        cluster = asdict(self.cluster)
        return {
            "simulation": True,
            "ranks": cluster["ranks"],
            "micro_batch_size": cluster["micro_batch_size"],
            "norm_batch_size": cluster["norm_batch_size"],
            "update_times": cluster["times"],
            "network": cluster["network"],
            "steps": [self._step(step) for step in self.steps],
            **_costs(self.cost),
        }

    def _step(self, step: Step) -> dict[str, Any]:
        cluster, size = self.cluster, step.batch_size
        return {
            "step": step.step,
            "batch_size": size,
            "epochs": step.epochs,
            "updates": step.updates,
            "samples_a_rank": cluster.share(size),
            "micro_batches": cluster.pieces(size),
            "idle": cluster.idle(size),
            "compute_seconds": cluster.compute(size) if cluster.times else None,
            "exchange_seconds": cluster.exchange if cluster.times else None,
            **_costs(step.cost),
        }


def simulate(plan: Plan, cluster: Cluster) -> Scaling:
    """Return what a plan costs on a cluster, step by step of its cycle.

    >>> from rebatch import cyclical, plan
    >>> made = plan(cyclical(8, width=1, steps=2), epochs=2, examples=160)
    >>> times = fit({1: 2.0, 2: 3.0})  # 1 ms, and 1 ms for each sample
    >>> steps = simulate(made, Cluster(ranks=8, times=times)).steps
    >>> [(step.batch_size, round(step.cost.efficiency, 4)) for step in steps]
    [(8, 0.5625), (16, 0.7083)]
    """
    steps: dict[tuple[int, int], list[int]] = {}
    for index, row in enumerate(plan.rows):
        if row.updates:
            steps.setdefault((row.step, row.batch_size), []).append(index)
    return Scaling(cluster, tuple(_step(plan, rows, cluster) for rows in steps.values()))


def compared(plan: Plan, cluster: Cluster, batch_size: int | None = None) -> dict[str, Any]:
    """Return the simulation as JSON-ready values, with that of a constant batch size beside it.

    That is None where it is the plan's own base, at which no update can be made.
    """
    asked = batch_size is not None
    reference = baseline(plan, batch_size) if asked else possible_baseline(plan, plan.base)
    beside = reference and {
        "batch_size": reference.base,
        **_costs(simulate(reference, cluster).cost),
    }
    return {**simulate(plan, cluster).to_dict(), "baseline": beside}


def _step(plan: Plan, rows: list[int], cluster: Cluster) -> Step:
    first, sizes = plan.rows[rows[0]], Counter[int]()
    for index in rows:
        sizes.update(_sizes(plan, index))
    epochs = sum(plan.rows[index].epochs for index in rows)
    return Step(first.step, first.batch_size, epochs, sizes.total(), _cost(cluster, sizes))


def _cost(cluster: Cluster, sizes: Counter[int]) -> Cost | None:
    if not cluster.times:
        return None
    return Cost(cluster.ranks, cluster.seconds(sizes), cluster.alone().seconds(sizes))


def _costs(cost: Cost | None) -> dict[str, float | None]:
    return {
        "seconds": cost.seconds if cost else None,
        "efficiency": cost.efficiency if cost else None,
    }


def _sizes(plan: Plan, index: int) -> Counter[int]:
    """Return how many updates of each size a row makes: the last of an epoch may be short.

    Tokens are read in as many columns by a short last segment: it counts as a whole one.
    """
    row = plan.rows[index]
    if isinstance(plan.amount, Tokens):
        return Counter({row.batch_size: row.updates})
    sizes: Counter[int] = Counter()
    for portion, times in _portions(plan, index):
        last = min(row.batch_size, portion.length - (portion.updates - 1) * row.batch_size)
        sizes[row.batch_size] += times * (portion.updates - 1)
        sizes[last] += times
    return +sizes


def _portions(plan: Plan, index: int) -> Iterator[tuple[Portion, int]]:
    """Yield the portions of a row that differ, and how often each is there."""
    row = plan.rows[index]
    first = plan.place_at(row.first_update).epoch
    last = plan.place_at(row.first_update + row.updates - 1).epoch
    yield plan._portion(index, first), 1
    if last > first:
        yield plan._portion(index, last), 1
    if last > first + 1:  # whole epochs, all cut alike
        yield plan._portion(index, first + 1), last - first - 1
