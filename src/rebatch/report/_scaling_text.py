"""A plan simulated on many ranks, in the terminal."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rebatch._plan import Plan, possible_baseline
from rebatch.report._plan_text import FEW_ROWS, _dim, _ellipsis, _table, _title
from rebatch.scaling import BYTES_OF_A_GRADIENT, Cluster, Scaling, Step, simulate

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

_UNITS = (("d", 86_400.0), ("h", 3_600.0), ("min", 60.0), ("s", 1.0), ("ms", 1e-3))


def show_scaling(
    console: "Console",
    plans: Sequence[Plan],
    clusters: Sequence[Cluster],
    baseline_size: int | None = None,
) -> None:
    """Print every plan on every cluster, then what the figures rest on."""
    for plan in plans:
        for cluster in clusters:
            console.print()
            console.print(_title(plan.schedule, f"simulated on {_ranks(cluster)}"))
            simulated = simulate(plan, cluster)
            console.print(_steps_table(simulated, _ellipsis(console)))
            reference = possible_baseline(plan, baseline_size or plan.base)
            for line in _totals(plan, simulated, reference):
                console.print(line)
    console.print()
    for line in _basis(clusters[0]):
        console.print(_dim(line))


def duration(seconds: float) -> str:
    """Return a time in the largest unit that it has one of.

    >>> [duration(seconds) for seconds in (0.25, 59, 90, 5400, 180_000)]
    ['250.0 ms', '59.0 s', '1.5 min', '1.5 h', '2.1 d']
    """
    unit, size = next((each for each in _UNITS if seconds >= each[1]), _UNITS[-1])
    return f"{seconds / size:.1f} {unit}"


def _ranks(cluster: Cluster) -> str:
    size, group = cluster.micro_batch_size, cluster.norm_batch_size
    micro = f", micro-batches up to {size:,}" if size else ""
    norm = f", batch norm in {group:,}s" if group > 1 else ""
    return f"{cluster.ranks:,} {'rank' if cluster.ranks == 1 else 'ranks'}{micro}{norm}"


def _steps_table(scaling: Scaling, ellipsis: str) -> "Table":
    names = ["\nstep", "batch\nsize", "a\nrank", "micro-\nbatches", "\nidle"]
    if scaling.cluster.times:
        names += ["compute\nms", "network\nms", "an\nepoch", "\nefficiency"]
    table = _table(names, left=0)
    for step in _few(scaling.steps):
        cells = _cells(step, scaling.cluster) if step else [ellipsis] * len(names)
        table.add_row(*cells)
    return table


def _few(steps: Sequence[Step]) -> Iterator[Step | None]:
    """Yield the steps worth showing, and None in place of those left out."""
    if len(steps) <= FEW_ROWS:
        yield from steps
    else:
        yield from (*steps[: FEW_ROWS - 3], None, *steps[-2:])


def _cells(step: Step, cluster: Cluster) -> list[str]:
    size = step.batch_size
    cells = [f"{step.step}", f"{size:,}", f"{cluster.share(size):,}"]
    cells += [f"{cluster.pieces(size):,}", _percent(cluster.idle(size))]
    if cost := step.cost:
        milliseconds = (cluster.compute(size) * 1000, cluster.exchange * 1000)
        cells += [f"{value:,.2f}" for value in milliseconds]
        cells += [duration(cost.seconds / step.epochs), _percent(cost.efficiency)]
    return cells


def _totals(plan: Plan, simulated: Scaling, reference: Plan | None) -> Iterator[str]:
    if not (cost := simulated.cost):
        yield "time and efficiency need --update-times"
        return
    yield f"{plan.schedule}: {duration(cost.seconds)} at {_percent(cost.efficiency)} efficiency"
    if not reference or not (other := simulate(reference, simulated.cluster).cost):
        return
    share = 1 - cost.seconds / other.seconds
    change = f"{_percent(abs(share))} {'less' if share > 0 else 'more'} time for {plan.schedule}"
    name = f"BL at batch size {reference.base:,}"
    beside = f"{name}: {duration(other.seconds)} at {_percent(other.efficiency)}"
    yield beside if share == 0 else f"{beside}, so {change}"


def _basis(cluster: Cluster) -> Iterator[str]:
    """Yield what the figures come from: they are no measurements."""
    yield "A simulation, no measurement. Idle: ranks' time spent without a sample."
    if times := cluster.times:
        line = f"t(b) = {times.fixed * 1000:.4g} + {times.each * 1000:.4g} b ms"
        yield f"Update times: {line} ({times.source}),"
        points = f"from batch sizes of {times.smallest:,} to {times.largest:,}"
        yield f"{points}, at most {_percent(times.off)} off there, a guess elsewhere."
        yield from _network(cluster)


def _network(cluster: Cluster) -> Iterator[str]:
    if not (network := cluster.network):
        yield "Network: free, without --network and --parameters."
        return
    size = f"{network.parameters:,} gradients of {BYTES_OF_A_GRADIENT} bytes"
    speed = f"{network.gigabytes:g} GB/s, {network.microseconds:g} us a message"
    yield f"Network: a ring, once an update, {size},"
    yield f"{speed}; it does not overlap with computing."


def _percent(share: float) -> str:
    return f"{share * 100:.1f} %"
