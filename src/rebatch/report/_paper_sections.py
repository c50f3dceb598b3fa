"""The paper's tables on a page, ours beside theirs."""

from collections.abc import Iterator, Mapping, Sequence
from statistics import mean, stdev

from rebatch.report._comparison import (
    COLUMNS,
    NO_ENSEMBLE,
    NOT_RUN,
    RULE,
    Line,
    allowance,
    columns_of,
)
from rebatch.report._controls import questions
from rebatch.report._page import Heading, Section, Text
from rebatch.report._published import tables
from rebatch.report._runs import Group, devices
from rebatch.report._table import Cell, Table
from rebatch.report._titles import NOTES, TITLES
from rebatch.report._values import Value

SAVED_AS = (
    *("schedule", "mean", "deviation", "paper", "difference", "seeds"),
    *("updates", "paper's updates", "saved, %", "seconds", "engine"),
)
"""The `COLUMNS` as a program wants them: one number in each."""


def paper_sections(groups: Sequence[Group]) -> list[Section | Sequence[Section]]:
    """Return every table of the paper that something was run of; the others are named."""
    compared = {table: columns_of(table, groups) for table in tables()}
    ran = [table for table, columns in compared.items() if _has_own(columns)]
    if not ran:
        return []
    sections: list[Section | Sequence[Section]] = [Text(f"{RULE} Devices: {devices(groups)}.")]
    for table in ran:
        sections += _section(table, compared[table])
    left = [TITLES[table] for table in compared if table not in ran]
    return [*sections, Text(f"Nothing was run yet of: {'; '.join(left)}.")] if left else sections


def _has_own(columns: Mapping[str, Sequence[Line]]) -> bool:
    return any(line.is_own for found in columns.values() for line in found)


def _section(table: str, columns: Mapping[str, Sequence[Line]]) -> Iterator[Section]:
    yield Heading(TITLES[table])
    if table in NOTES:
        yield Text(NOTES[table])
    for recipe, found in columns.items():
        rows = [_cells(line) for line in found]
        name = f"{table}-{recipe}.csv"
        yield Table(columns=COLUMNS, rows=rows, caption=recipe, download=name, saved_as=SAVED_AS)
    asked = questions(line.cell for found in columns.values() for line in found)
    if asked:
        yield Table(columns=("control", "asks"), rows=list(asked.items()), download=False)


def _cells(line: Line) -> list[Value | Cell]:
    """Return the cells of the `COLUMNS`, with the numbers that the file `SAVED_AS` has for them."""
    schedule, ours, paper, off, seeds, updates, theirs, fewer, time = line.texts()
    count = len(line.values)
    centre = round(mean(line.values), 4) if count else None
    deviation = round(stdev(line.values), 4) if count > 1 else None
    exact = None if line.difference is None else round(line.difference, 2)
    return [
        Cell(schedule, "quiet" if line.cell.beside else ""),
        Cell(ours, "quiet" if ours in (NOT_RUN, NO_ENSEMBLE) else "", exact=(centre, deviation)),
        Cell(paper, exact=line.cell.value),
        Cell(off, "warn", _why(line), exact) if line.differs else Cell(off, exact=exact),
        Cell(seeds, exact=count or None),
        Cell(updates, exact=line.updates),
        Cell(theirs, exact=line.cell.updates),
        Cell(fewer, exact=None if line.saving is None else round(line.saving, 2)),
        Cell(time, exact=_timed(line) if time else (None, None)),
    ]


def _timed(line: Line) -> tuple[float, str]:
    """Return the seconds of a run that has a time, and the engine that they were measured with."""
    assert line.group is not None
    assert line.group.seconds is not None
    return round(line.group.seconds, 1), line.group.runs[0].engine


def _why(line: Line) -> str:
    limit = f"{allowance(line.values, line.cell.metric):.2f}"
    if len(line.values) == 1:
        return f"one seed: more than {limit}, a rule of thumb"
    return f"more than the {limit} that {len(line.values)} seeds explain"
