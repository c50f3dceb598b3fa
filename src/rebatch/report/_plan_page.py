"""Plans as a page: the schedules drawn, what they cost, and every row."""

from collections.abc import Iterator, Sequence

from rebatch._plan import Plan, Row, possible_baseline
from rebatch.report._chart import Chart, Mark, Series
from rebatch.report._page import Download, Heading, Section, Text, page
from rebatch.report._plan_text import amount, cost, few, shown
from rebatch.report._stairs import stairs, unit_of
from rebatch.report._table import Table
from rebatch.report._values import Value, csv_text

MOST_ROWS = 200


def plan_page(plans: Sequence[Plan], baseline_size: int | None = None) -> str:
    """Return an interactive page about one plan, or about several side by side."""
    unit = unit_of(plans)
    size = plans[0].base if baseline_size is None else baseline_size
    parts: list[Section | Sequence[Section]] = [Text(_summary(plans)), _comparison(plans, size)]
    if len(plans) == 1:
        parts += [_chart(plans[0], unit, plans), _chart(plans[0], "updates", plans)]
    else:
        parts += [Heading(f"By {unit}"), [_chart(plan, unit, plans, 230) for plan in plans]]
        parts += [Heading("By updates"), [_chart(plan, "updates", plans, 230) for plan in plans]]
    parts.append(Heading("Rows"))
    parts += [part for plan in plans for part in _rows(plan)]
    return page(f"Batch-size plan: {', '.join(plan.schedule for plan in plans)}", parts)


def _summary(plans: Sequence[Plan]) -> str:
    lengths = dict.fromkeys(amount(plan) for plan in plans)
    return f"{'; '.join(lengths).capitalize()}. Batch sizes are drawn on a doubling scale."


def _comparison(plans: Sequence[Plan], size: int) -> Table:
    against = f"updates against BL at {size:,}"
    columns = ("schedule", "batch sizes", "cycles end after epoch", "updates", "samples", against)
    rows = [
        (
            *(plan.schedule, few(plan.sizes), few(plan.cycle_ends) or "–"),
            *(plan.updates, plan.samples, cost(plan, reference) if reference else "–"),
        )
        for plan, reference in ((plan, possible_baseline(plan, size)) for plan in plans)
    ]
    return Table(columns=columns, rows=rows, download="plans.csv")


def _chart(plan: Plan, unit: str, plans: Sequence[Plan], height: int = 320) -> Chart:
    """Return one plan on axes that fit all of them, so that the eye can compare."""
    every = [stairs(each, unit) for each in plans]
    drawn = stairs(plan, unit)
    curve = Series(name=plan.schedule, x=drawn.edges, y=(*drawn.sizes, drawn.sizes[-1]), step=True)
    low, high = min(s.low for s in every), max(s.high for s in every)
    return Chart(
        title=plan.schedule if len(plans) > 1 else f"Batch size by {unit.removesuffix('s')}",
        x_label=unit,
        y_label="batch size",
        series=[curve],
        marks=[Mark(at=end, label="a cycle ends") for end in drawn.ends],
        log=True,
        height=height,
        x_range=(0, max(s.total for s in every)),
        y_range=(low / 2**0.35, high * 2**0.35),
    )


def _rows(plan: Plan) -> Iterator[Section]:
    """Yield the table of a plan's rows; where it leaves some out, a link saves them all."""
    columns = ("cycle", "step", "from epoch", "epochs", "batch size", "updates", "samples")
    shortened = len(plan.rows) > MOST_ROWS
    rows = [_row(row) for row in (shown(plan.rows) if shortened else plan.rows)]
    name = f"{plan.schedule} from {plan.base:,}"
    yield Table(columns=columns, rows=rows, caption=name, download=not shortened and "rows.csv")
    if shortened:
        text = csv_text(columns, (_row(row) for row in plan.rows))
        yield Download("rows.csv", text, f"CSV of all {len(plan.rows):,} rows")


def _row(row: Row | int) -> tuple[Value, ...]:
    if isinstance(row, int):
        return (f"… {row:,} rows …", *[""] * 6)
    span = row.cycle, row.step, row.first_epoch, row.epochs
    return (*span, row.batch_size, row.updates, row.samples)
