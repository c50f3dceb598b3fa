"""Plans in the terminal: tables, drawings and totals, as things that rich can print."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from rebatch._amount import Tokens
from rebatch._plan import Plan, Row, possible_baseline
from rebatch.report._drawing import ASCII, UNICODE, Drawing
from rebatch.report._stairs import stairs, unit_of
from rebatch.report._values import Value, written

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

FEW_ROWS = 20
"""A plan of up to so many rows is shown whole."""
_HEAD, _TAIL = 6, 2


def show(console: "Console", plans: Sequence[Plan], baseline_size: int | None = None) -> None:
    """Print one plan row by row, or several side by side."""
    if len(plans) == 1:
        _show_one(console, plans[0], baseline_size)
    else:
        _show_several(console, plans, baseline_size)


def cost(plan: Plan, reference: Plan) -> str:
    """Return how many updates a plan has against another, in words.

    >>> from rebatch import cyclical
    >>> from rebatch._plan import baseline, plan
    >>> made = plan(cyclical(10, width=1, steps=2), epochs=2, examples=100)
    >>> cost(made, baseline(made)), cost(made, made)
    ('25.0 % fewer', 'the same')
    """
    share = plan.saved(reference) * 100
    if plan.updates == reference.updates:
        return "the same"
    return f"{abs(share):.1f} % {'fewer' if share > 0 else 'more'}"


def few(items: Sequence[Value], ellipsis: str = "…", *, most: int = 5) -> str:
    """Return a list in words; a long one keeps its start and its end.

    >>> few([4, 8, 12, 16, 20, 24])
    '4, 8, 12, …, 24'
    """
    texts = [written(item) for item in items]
    if len(texts) > most:
        texts = [*texts[: most - 2], ellipsis, texts[-1]]
    return ", ".join(texts)


def amount(plan: Plan) -> str:
    """Return what a plan trains on, in words."""
    kind = "tokens" if isinstance(plan.amount, Tokens) else "examples"
    cut = f" in segments of {plan.amount.bptt}" if isinstance(plan.amount, Tokens) else ""
    epochs = "epoch" if plan.epochs == 1 else "epochs"
    return f"{written(plan.epochs)} {epochs} of {plan.examples:,} {kind}{cut}"


def shown(rows: Sequence[Row]) -> Iterator[Row | int]:
    """Yield the rows worth showing, and in place of those left out how many they are."""
    if len(rows) <= FEW_ROWS:
        yield from rows
        return
    cycles = [list(cycle) for _, cycle in groupby(rows, key=lambda row: row.cycle)]
    kept = cycles if len(cycles) <= 3 else [*cycles[:2], cycles[-1]]
    for index, cycle in enumerate(kept):
        if index == 2 and len(cycles) > 3:
            yield sum(map(len, cycles[2:-1]))
        yield from _shortened(cycle)


def _shortened(cycle: list[Row]) -> Iterator[Row | int]:
    if len(cycle) <= _HEAD + _TAIL + 1:
        yield from cycle
        return
    yield from cycle[:_HEAD]
    yield len(cycle) - _HEAD - _TAIL
    yield from cycle[-_TAIL:]


def _show_one(console: "Console", plan: Plan, baseline_size: int | None) -> None:
    console.print(_title(plan.schedule, f"base {plan.base:,}, {amount(plan)}"))
    console.print()
    drawing = _drawing(console, [plan], height=7)
    _draw(console, drawing, 0)
    console.print(_dim(drawing.footer()))
    console.print(_rows_table(plan, _ellipsis(console)))
    size = plan.base if baseline_size is None else baseline_size
    for line in _totals(plan, possible_baseline(plan, size), _ellipsis(console)):
        console.print(line)


def _show_several(console: "Console", plans: Sequence[Plan], baseline_size: int | None) -> None:
    drawing = _drawing(console, plans, height=3)
    for index, plan in enumerate(plans):
        console.print(_title(plan.schedule, f"base {plan.base:,}"))
        _draw(console, drawing, index)
    console.print(_dim(drawing.footer()))
    size = plans[0].base if baseline_size is None else baseline_size
    console.print(_comparison(plans, size, _ellipsis(console)))
    lengths = list(dict.fromkeys(amount(plan) for plan in plans))
    console.print(lengths[0] if len(lengths) == 1 else f"lengths: {'; '.join(lengths)}")


def _drawing(console: "Console", plans: Sequence[Plan], *, height: int) -> Drawing:
    unit = unit_of(plans)
    glyphs = ASCII if console.options.ascii_only else UNICODE
    every = tuple(stairs(plan, unit) for plan in plans)
    return Drawing(every, unit, min(console.width, 100), height, glyphs)


def _draw(console: "Console", drawing: Drawing, index: int) -> None:
    from rich.text import Text

    *lines, axis = drawing.lines(drawing.stairs[index])
    for line in lines:
        label, cells = line[: drawing.gutter], line[drawing.gutter :]
        console.print(Text.assemble((label, "dim"), (cells, "cyan"), no_wrap=True))
    console.print(_dim(axis))


def _rows_table(plan: Plan, ellipsis: str) -> "Table":
    names = ("cycle", "step", "from epoch", "epochs", "batch size", "updates", "samples")
    table = _table(names, left=0)
    ended = False
    for row in shown(plan.rows):
        if isinstance(row, int):
            table.add_row(*[ellipsis] * 2, f"{row:,} rows", *[ellipsis] * 4, end_section=ended)
            continue
        ended = row.ends_cycle
        span = written(row.first_epoch), written(row.epochs)
        counts = (f"{value:,}" for value in (row.batch_size, row.updates, row.samples))
        table.add_row(str(row.cycle), str(row.step), *span, *counts, end_section=ended)
    return table


def _comparison(plans: Sequence[Plan], size: int, ellipsis: str) -> "Table":
    names = ("schedule", "batch sizes", "cycles end after epoch", "updates", f"against BL {size:,}")
    table = _table(names, left=3)
    for plan in plans:
        ends = few(plan.cycle_ends, ellipsis) or "-"
        reference = possible_baseline(plan, size)
        updates = f"{plan.updates:,}", cost(plan, reference) if reference else "-"
        table.add_row(plan.schedule, few(plan.sizes, ellipsis), ends, *updates)
    return table


def _totals(plan: Plan, reference: Plan | None, ellipsis: str) -> Iterator[str]:
    yield f"{plan.updates:,} updates, {plan.samples:,} samples" + (
        f", {plan.left_out:,} left out" if plan.left_out else ""
    )
    ends = plan.cycle_ends
    yield f"cycles end after epoch {few(ends, ellipsis, most=8)}" if ends else "no cycle ends"
    if reference is None:
        return
    same, change = plan.updates == reference.updates, cost(plan, reference)
    compared = "as many updates as" if same else f"{change} updates than"
    yield f"{compared} BL at batch size {reference.base:,} ({reference.updates:,})"


def _table(names: Sequence[str], *, left: int) -> "Table":
    """Return an empty table whose first ``left`` columns are text and the others numbers."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE, pad_edge=False, collapse_padding=True, header_style="bold")
    for index, name in enumerate(names):
        table.add_column(name, justify="left" if index < left else "right", overflow="fold")
    return table


def _title(name: str, rest: str) -> "Text":
    from rich.text import Text

    return Text.assemble((name, "bold"), "  ", (rest, "dim"))


def _dim(line: str) -> "Text":
    from rich.text import Text

    return Text(line, style="dim", no_wrap=True)


def _ellipsis(console: "Console") -> str:
    return "..." if console.options.ascii_only else "…"
