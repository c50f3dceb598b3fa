"""The page of results: the paper's tables with ours, then a table and curves for every recipe."""

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from statistics import mean
from typing import Any

from rebatch.report._curves import WORDS, charts, left_out
from rebatch.report._decisions import decision_sections
from rebatch.report._page import Heading, Section, Text, page
from rebatch.report._paper_sections import paper_sections
from rebatch.report._published import trained_as
from rebatch.report._runs import Group, headline, read_groups, saved, spread, unfinished
from rebatch.report._table import Cell, Table
from rebatch.report._titles import FIGURES

COLUMNS = ("schedule", "final", "ensemble", "updates", "saved", "seeds")


def results_page(root: Path, title: str = "Results") -> str:
    """Return one self-contained page with the tables and curves of all runs below ``root``."""
    groups = read_groups(root)
    sections = paper_sections(groups)
    for recipe, found in groupby(groups, key=lambda group: group.recipe):
        sections += recipe_sections(recipe, list(found))
    missing = unfinished(root)
    sections += [Text(f"Not finished, and not in here: {'; '.join(missing)}.")] if missing else []
    return page(title, sections)


def recipe_sections(recipe: str, groups: Sequence[Group]) -> list[Section | Sequence[Section]]:
    """Return heading, table, curves and decisions of one recipe."""
    metric = headline(groups)
    said = (verdict(groups, metric), FIGURES.get(recipe, ""), left_out(groups))
    return [
        Heading(recipe),
        Text(" ".join(text for text in said if text)),
        _table(recipe, groups, metric),
        *charts(groups, metric),
        *decision_sections(groups),
    ]


def _table(recipe: str, groups: Sequence[Group], metric: str) -> Table:
    rows = [
        [*row, _best_epoch(group, metric), spread(_training(group, metric)), group.time]
        for row, group in zip(table_rows(groups, metric), groups, strict=True)
    ]
    columns = [*COLUMNS, "best", "training", "wall-clock"]
    caption = f"{recipe}: {WORDS.get(metric, metric)}"
    return Table(columns=columns, rows=rows, caption=caption, download=f"{recipe}.csv")


def table_rows(groups: Sequence[Group], metric: str) -> list[list[Any]]:
    """Return a line a schedule: figures over seeds, and updates against the baseline."""
    first = best(groups, metric)
    rows = []
    for group in groups:
        final = spread(group.values("final", metric))
        rows.append(
            [
                group.name,
                Cell(final, "best", "the best final value") if group is first else final,
                spread(group.values("ensemble", metric)),
                group.updates,
                saved(group, baseline_of(group, groups)),
                len(group.runs),
            ]
        )
    return rows


def baseline_of(group: Group, groups: Sequence[Group]) -> Group | None:
    """Return the baseline with the same settings: other epochs or data are another question."""
    same = [g for g in groups if g.schedule == "BL" and g.overrides == group.overrides]
    alike = (g for g in same if trained_as(g.variant) is None)
    return next(alike, None)


def verdict(groups: Sequence[Group], metric: str) -> str:
    """Say in a sentence whether the best cycle beats the baseline, and by more than the spread."""
    others = [g for g in groups if g.schedule != "BL" and baseline_of(g, groups) is not None]
    if not others:
        return ""
    first = best(others, metric)
    baseline = baseline_of(first, groups)
    assert baseline is not None
    finals = first.values("final", metric), baseline.values("final", metric)
    if not all(finals):
        return ""
    gain = mean(finals[0]) - mean(finals[1])
    gain = -gain if _falls(metric) else gain
    size = f"{abs(gain):.2f}"
    better = f"{size} {'better' if gain > 0 else 'worse'} than"
    return (
        f"The best schedule besides the baseline, {first.name}, is "
        f"{'level with' if size == '0.00' else better} {baseline.name} "
        f"({WORDS.get(metric, metric)}; {_certainty(finals[1])}) "
        f"with {100 * first.updates / baseline.updates:.0f} % of its updates."
    )


def _certainty(values: Sequence[float]) -> str:
    if len(values) == 1:
        return "one seed, so small differences mean nothing"
    return f"from seed to seed the baseline itself spreads {max(values) - min(values):.2f}"


def _falls(metric: str) -> bool:
    return metric.endswith(("perplexity", "loss"))


def best(groups: Sequence[Group], metric: str) -> Group:
    """Return the group with the best final value, the first of equals."""
    sign = -1 if _falls(metric) else 1
    return max(
        groups, key=lambda group: sign * mean(group.values("final", metric) or [-sign * 1e9])
    )


def _best_epoch(group: Group, metric: str) -> Cell:
    """Return the value at the best epoch, which is optimistic where the test set picks it."""
    text = spread(group.values("best", metric))
    if (group.runs[0].result.get("best") or {}).get("optimistic"):
        return Cell(text, "quiet", "optimistic: the epoch is picked by the test set")
    return Cell(text)


def _training(group: Group, metric: str) -> list[float]:
    """Return the same figure on the training data, over the last epoch as it was trained."""
    return group.values("final", f"train_{metric.rpartition('_')[2]}")
