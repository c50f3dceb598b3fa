"""Ours beside the paper's, as Markdown: every cell of every table, run or not."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from rebatch.report._comparison import COLUMNS, RULE, Line, columns_of, is_in_a_table, seeds
from rebatch.report._controls import questions
from rebatch.report._decisions import SHOWN, shown_rows
from rebatch.report._published import tables
from rebatch.report._runs import Group, devices, headline, read_groups, spread
from rebatch.report._titles import NOTES, TITLES
from rebatch.report._values import written


def reproduction(root: Path, title: str = "") -> str:
    """Return a section for each table of the paper, then the runs that are in none of them."""
    groups = read_groups(root)
    parts = [f"# {_escaped(title)}"] if title else []
    parts += [f"{_escaped(RULE)} Devices: {_escaped(devices(groups))}."]
    parts += [_section(table, groups) for table in tables()]
    others = [group for group in groups if not is_in_a_table(group)]
    if others:
        parts.append(f"## Runs beside the paper's cells\n\n{_others(others)}")
    caption, decided = shown_rows([replace(group, runs=group.runs[:1]) for group in groups])
    if decided:
        rows = [[written(value) for value in row] for row in decided]
        table = markdown_table(SHOWN, rows)
        said = f"Of the first seed of each schedule. {caption}."
        parts.append(f"## Decisions of adaptive runs\n\n{said}\n\n{table}")
    return "\n\n".join(parts) + "\n"


def _section(table: str, groups: Sequence[Group]) -> str:
    columns = columns_of(table, groups)
    parts = [f"## {TITLES[table]}", NOTES.get(table, "")]
    for recipe, found in columns.items():
        rows = [_texts(line) for line in found]
        parts += [f"### {_code(recipe)}", markdown_table(COLUMNS, rows)]
    asked = questions(line.cell for found in columns.values() for line in found)
    parts.append("\n".join(f"- {name}: {said}." for name, said in asked.items()))
    return "\n\n".join(part for part in parts if part)


def _texts(line: Line) -> list[str]:
    schedule, ours, paper, off, *rest = line.texts()
    return [schedule, ours, paper, Markup(f"**{off}**") if line.differs else off, *rest]


def _others(groups: Sequence[Group]) -> str:
    head = ("recipe", "schedule", "final", "ensemble", "seeds", "updates", "wall-clock")
    rows = []
    for group in groups:
        metric = headline([group])
        final = f"{spread(group.values('final', metric))} ({metric.replace('_', ' ')})"
        counts = [seeds(len(group.runs)), f"{group.updates:,}"]
        ensemble = spread(group.values("ensemble", metric))
        rows.append([_code(group.recipe), group.name, final, ensemble, *counts, group.time])
    return markdown_table(head, rows)


class Markup(str):
    """A text that is Markdown already."""


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    r"""Return a Markdown table; what could be markup in its texts is escaped.

    >>> print(markdown_table(("a", "b"), [("1|2", "<i>"), ("[x](y)", Markup("**z**"))]))
    | a | b |
    |---|---|
    | 1\|2 | &lt;i> |
    | \[x\](y) | **z** |
    """
    return "\n".join([_row(head), "|" + "---|" * len(head), *(_row(row) for row in rows)])


def _row(cells: Sequence[str]) -> str:
    ready = (cell if isinstance(cell, Markup) else _escaped(cell) for cell in cells)
    return f"| {' | '.join(ready)} |"


def _escaped(text: str) -> str:
    safe = re.sub(r"([\\`*\[\]|])", r"\\\1", text)
    return safe.replace("&", "&amp;").replace("<", "&lt;").replace("\n", " ")


def _code(name: str) -> Markup:
    safe = re.sub(r"[`|<\s]+", " ", name)
    return Markup(f"`{safe}`")
