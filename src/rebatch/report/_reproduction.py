"""Ours beside the paper's, as Markdown: every cell of every table, run or not."""

from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path

from rebatch.report._published import Published, find_published, published
from rebatch.report._runs import Group, headline, read_groups, spread

TITLES = {
    "language": "Language models (test perplexity)",
    "inference": "Natural-language inference (validation accuracy, %)",
    "cifar10": "CIFAR-10 (test accuracy, %)",
    "cifar10-overfit": "A network that overfits CIFAR-10 (test accuracy, %)",
    "imagenet": "ImageNet (validation accuracy, %)",
    "imagenet-ensemble": "ImageNet, ensemble of the last two cycles",
    "adversarial": "With adversarial regularisation (test accuracy, %)",
    "ensemble-cifar10": "Snapshot ensemble on CIFAR-10 (test accuracy, %)",
    "initialization": "From a poor start, N(0, 0.1²) (test accuracy, %)",
    "ensemble-language": "Snapshot ensembles of language models (test perplexity)",
    "overfit-language": "Language models with little dropout (final test perplexity)",
}


def reproduction(root: Path) -> str:
    """Return a section for each table of the paper, then the runs that are in none of them."""
    groups = read_groups(root)
    parts = [
        f"## {TITLES.get(table, table)}\n\n{_table_of(list(cells), groups)}"
        for table, cells in groupby(published(), key=lambda cell: cell.table)
    ]
    others = [group for group in groups if find_published(group) is None]
    if others:
        parts.append(f"## Runs beside the paper's cells\n\n{_others(others)}")
    return "\n\n".join(parts) + "\n"


def _table_of(cells: Sequence[Published], groups: Sequence[Group]) -> str:
    head = ("recipe", "schedule", "ours", "paper", "seeds", "our updates", "paper's updates")
    return markdown_table(head, [_line(cell, groups) for cell in cells])


def _line(cell: Published, groups: Sequence[Group]) -> list[str]:
    found = next((g for g in groups if find_published(g, cell.part) is cell), None)
    values = found.values(cell.part, cell.metric) if found else []
    return [
        f"`{cell.recipe}`" + (f" {cell.variant}" if cell.variant else ""),
        cell.schedule,
        spread(values) if values else "not run",
        f"{cell.value:g}",
        str(len(values)) if values else "",
        f"{found.updates:,}" if found and values else "",
        f"{cell.updates:,}" if cell.updates else "",
    ]


def _others(groups: Sequence[Group]) -> str:
    head = ("recipe", "schedule", "final", "ensemble", "seeds", "updates")
    lines = []
    for group in groups:
        metric = headline([group])
        lines.append(
            [
                f"`{group.recipe}`",
                group.name,
                f"{spread(group.values('final', metric))} ({metric.replace('_', ' ')})",
                spread(group.values("ensemble", metric)),
                str(len(group.runs)),
                f"{group.updates:,}",
            ]
        )
    return markdown_table(head, lines)


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    r"""Return a Markdown table; bars and angle brackets in its texts are escaped.

    >>> print(markdown_table(("a", "b"), [("1|2", "<i>")]))
    | a | b |
    |---|---|
    | 1\|2 | &lt;i> |
    """
    lines = [_row(head), "|" + "---|" * len(head), *(_row(row) for row in rows)]
    return "\n".join(lines)


def _row(cells: Sequence[str]) -> str:
    safe = (cell.replace("|", "\\|").replace("<", "&lt;").replace("\n", " ") for cell in cells)
    return f"| {' | '.join(safe)} |"
