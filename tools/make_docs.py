"""Make everything in README and docs/ that comes from records: tables and pictures.

    python tools/make_docs.py            (or: make docs-figures)

Reads results/ and the package, and writes docs/results.md, docs/images/ and what stands between the
marks of README.md and docs/reproduction.md.  Pictures are drawn by our own code, so that the same
records give the same bytes on every machine and a test can compare them.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path

import rebatch
from rebatch.recipes import DEMO
from rebatch.report import Chart, Mark, Series, panels, reproduction, write
from rebatch.report._comparison import Line, columns_of, seeds
from rebatch.report._curves import WORDS, charts
from rebatch.report._published import published, tables
from rebatch.report._reproduction import Markup, markdown_table
from rebatch.report._results import best
from rebatch.report._runs import Group, headline, read_groups, spread
from rebatch.report._titles import TITLES

ROOT = Path(__file__).parent.parent
GALLERY = ("CBS-5", "CBS-5-A", "CBS-5-T", "CBS-1", "CBS-1-A", "CBS-1-T")
MARKS = r"(<!-- made by make docs-figures: ([^>]*?) -->\n).*?(<!-- end -->)"


def made(root: Path = ROOT) -> dict[Path, str]:
    """Return every file that is generated, or generated in part, with what it should hold."""
    groups = read_groups(root / "results")
    pictures = {recipe: curves(found) for recipe, found in compared(groups)}
    text = f"# Results beside the paper's\n\n{reproduction(root / 'results')}\n{shown(pictures)}"
    images = root / "docs" / "images"
    files = {root / "docs" / "results.md": text, images / "gallery.svg": gallery()}
    files |= {images / f"{recipe}.svg": picture for recipe, picture in pictures.items()}
    for path in (root / "README.md", *sorted((root / "docs").glob("*.md"))):
        text = path.read_text(encoding="utf-8")
        if path not in files and re.search(MARKS, text, flags=re.DOTALL):
            files[path] = filled(text, groups)
    return files


def compared(groups: Sequence[Group]) -> Iterator[tuple[str, list[Group]]]:
    """Yield the paper's recipes whose baseline was run beside a cycle, with what is drawn."""
    known = (group for group in groups if group.recipe != DEMO.name)
    own = (group for group in known if group.is_plain or _is_of_the_paper(group))
    for recipe, found in groupby(own, key=lambda group: group.recipe):
        runs = list(found)
        baselines = [group for group in runs if group.is_plain and group.schedule == "BL"]
        cycles = [group for group in runs if group.schedule.startswith("CBS")]
        adaptive = [group for group in runs if group.is_plain and group.is_adaptive]
        if baselines and cycles:
            yield recipe, [*baselines, best(cycles, headline(cycles)), *adaptive]


def _is_of_the_paper(group: Group) -> bool:
    cells = [cell for cell in published() if cell.variant == group.variant]
    return any(cell.found_in([group]) for cell in cells)


def shown(recipes: Iterable[str]) -> str:
    """Return the section of the page of results that shows the pictures."""
    images = [f"![Curves of {recipe}](images/{recipe}.svg)" for recipe in recipes]
    return "\n\n".join(["## Curves", *images]) + "\n"


def gallery() -> str:
    """Return the six schedules of the paper's figure 1."""
    drawn = []
    for code in GALLERY:
        plan = rebatch.plan(rebatch.parse(code, 10), epochs=60, tokens=929_589, bptt=35)
        edges = [*(row.first_epoch for row in plan.rows), 60]
        heights = [row.batch_size for row in plan.rows]
        sizes = [*heights, heights[-1]]
        floor = 10 / 1.5
        steps = Series(name=code, x=edges, y=sizes, low=[floor] * len(edges), high=sizes, step=True)
        drawn.append(
            Chart(
                title=code,
                x_label="epochs",
                y_label="batch size",
                series=[steps],
                marks=[Mark(at=end) for end in plan.cycle_ends],
                log=True,
                height=190,
                x_range=(0, 60),
                y_range=(floor, 640 * 1.5),
            )
        )
    return panels(drawn, columns=3, panel_width=290)


def curves(groups: Sequence[Group]) -> str:
    """Return the figure, its training and the sizes, each by update and by epoch."""
    drawn = [chart for pair in charts(groups, headline(groups)) for chart in pair]
    return panels(drawn, columns=2, panel_width=440)


def filled(text: str, groups: Sequence[Group]) -> str:
    """Return a page with what stands between its marks made anew."""

    def between(match: re.Match[str]) -> str:
        return f"{match[1]}\n{_asked_for(match[2].split(), groups)}\n\n{match[3]}"

    return re.sub(MARKS, between, text, flags=re.DOTALL)


def _asked_for(names: Sequence[str], groups: Sequence[Group]) -> str:
    """Return what a mark asks for.

    ``coverage``: how many cells were run.  ``runs RECIPE [CODE …]``: what those runs ended with;
    without a recipe, all but the demo's.  TABLE or TABLE/RECIPE, several: what was run of them
    beside the paper; with ``cells`` first, no controls and no further ensembles.
    """
    if names[0] == "runs":
        return _runs(groups, *names[1:])
    if names == ["coverage"]:
        head = ("table of the paper", "cells run", "of", "controls run", "of")
        return markdown_table(head, [_coverage(table, groups) for table in tables()])
    head = ("recipe", "schedule", "ours", "paper", "difference", "seeds", "updates", "saved")
    alone = names[0] == "cells"
    asked = (line for name in names[alone:] for line in _lines(name, groups))
    kept = (line for line in asked if line.cell.value is not None or not alone)
    return markdown_table(head, [_row(line) for line in kept if line.values])


def _runs(groups: Sequence[Group], recipe: str = "", *codes: str) -> str:
    rows = []
    for group in groups:
        wanted = group.recipe == recipe if recipe else group.recipe != DEMO.name
        if not wanted or (codes and not (group.is_plain and group.schedule in codes)):
            continue
        metric = headline([group])
        updates = [run.result["updates"] for run in group.runs]
        few, many = f"{min(updates):,}", f"{max(updates):,}"
        folder = group.runs[0].folder.path.parent
        rows.append(
            [
                Markup(f"`{folder.parent.name}/{folder.name}`"),
                spread(group.values("final", metric)),
                few if few == many else f"{few} to {many}",
                "" if group.seconds is None else f"{group.seconds:,.1f}",
                seeds(len(group.runs)),
                ", ".join(dict.fromkeys(run.made_on for run in group.runs)),
            ]
        )
    return markdown_table(("runs", "figure", "updates", "seconds", "seeds", "made on"), rows)


def _coverage(table: str, groups: Sequence[Group]) -> list[str]:
    every = [line for line in _lines(table, groups) if not line.is_extra]
    controls = [line for line in every if line.cell.beside]
    cells = [line for line in every if not line.cell.beside]
    counts = ((sum(bool(line.values) for line in kind), len(kind)) for kind in (cells, controls))
    return [TITLES[table], *(str(count) for pair in counts for count in pair)]


def _lines(name: str, groups: Sequence[Group]) -> Iterator[Line]:
    table, _, recipe = name.partition("/")
    for column, lines in columns_of(table, groups).items():
        yield from lines if recipe in ("", column) else ()


def _row(line: Line) -> list[str]:
    said, ours, paper, off, seeds, updates, _, saved, _ = line.texts()
    word = WORDS.get(line.cell.metric, line.cell.metric.replace("_", " "))
    marked = Markup(f"**{off}**") if line.differs else off
    return [
        Markup(f"`{line.cell.recipe}` ({word})"),
        said,
        ours,
        paper,
        marked,
        seeds,
        updates,
        saved,
    ]


if __name__ == "__main__":
    for path, content in made().items():
        print(write(path, content))
