"""What one sees of a sweep: a live table in a terminal, otherwise a line a change."""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Self

from rich.box import SIMPLE
from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from rebatch.records import FAILED, FINISHED, INTERRUPTED, RUNNING
from rebatch.sweeps._identity import Identity
from rebatch.sweeps._loop import State
from rebatch.sweeps._standing import WAITING, Standing

STARTING, ELSEWHERE = "starting", "in use"
ORDER = (RUNNING, STARTING, FAILED, ELSEWHERE, INTERRUPTED, WAITING, FINISHED)
"""What matters first comes first, because a long table is cut at the bottom of the screen."""
COLUMNS = ("run", "status", "epoch", "updates", "batch", "figure", "left")
SPARE = ("updates", "batch", "left", "epoch")
"""What a narrow terminal does without, first things first."""
LEAST = 24
"""Characters of a run's name that a narrow terminal shows at least."""

Look = Callable[[Identity], Standing]


class Screen:
    """Shows every run of a sweep."""

    def __init__(self, runs: Sequence[Identity], look: Look, console: Console | None = None):
        self.runs, self._look = runs, look
        self._console = console or Console()
        self._live = Live(console=self._console, auto_refresh=False, transient=True)
        self._known: dict[Identity, Standing] = {}
        self._state: State | None = None
        self._shown = 0.0

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is not None and self._state is not None:
            self.refresh(self._state)  # what was stopped does not run any more
        self._live.stop()

    def show(self, state: State) -> None:
        """Look at the records again, twice a second at most, and show what is new."""
        self._state = state
        if time.monotonic() - self._shown < 0.5:
            return
        self.refresh(state)

    def refresh(self, state: State) -> None:
        """Look at the records again and show what is new."""
        before = dict(self._known)
        for run in self.runs:
            if run not in before or before[run].status != FINISHED:
                self._known[run] = judged(run, self._look(run), state)
        if self._console.is_terminal:
            self._live.update(self.table(), refresh=True)
        else:
            self._print_changes(before)
        self._shown = time.monotonic()

    def conclude(self) -> None:
        """Leave the whole table on the terminal."""
        if self._console.is_terminal:
            rows, width = len(self._known), self._console.width
            self._console.print(table(self._known.items(), rows=rows, width=width))

    def table(self) -> Table:
        """Return the table of all runs, those under way first."""
        rows, width = self._console.height - 8, self._console.width
        return table(self._known.items(), rows=rows, width=width)

    def _print_changes(self, before: dict[Identity, Standing]) -> None:
        for run, now in self._known.items():
            if now.status != (before[run].status if run in before else WAITING):
                self._console.print(line(run, now), highlight=False, markup=False, soft_wrap=True)


def judged(run: Identity, found: Standing, state: State) -> Standing:
    """Return the standing with the status that the sweep knows better than the records.

    Records of a run that was killed still say "running".
    """
    if run in state.running:
        known = found.update or found.status == RUNNING
        return replace(found, status=RUNNING if known else STARTING, error="")
    if found.status == FINISHED:
        return found
    if run in state.failed:
        return replace(found, status=FAILED, error=state.ended[run].error)
    if run in state.in_use:
        return replace(found, status=ELSEWHERE)
    return replace(found, status=INTERRUPTED if found.update else WAITING)


def line(run: Identity, now: Standing) -> str:
    """Return a run in one line.

    >>> line(Identity("digits", "BL", 0), Standing("failed", error="memory does not suffice"))
    'digits BL seed 0: failed: memory does not suffice'
    """
    parts = [now.status]
    if now.error:
        parts[0] += f": {now.error}"
    if now.headline:
        parts.append(now.headline)
    if now.update:
        parts.append(f"{now.update:,} updates in {clock(now.seconds)}")
    return f"{run.label}: {', '.join(parts)}"


def table(known: Iterable[tuple[Identity, Standing]], rows: int, width: int = 120) -> Table:
    """Return at most ``rows`` runs as a table, with the count of each status below it.

    Where the width does not hold all columns, those that say the least are left out.
    """
    ordered = sorted(known, key=lambda pair: _rank(pair[1].status))
    counts = Counter(now.status for _, now in ordered)
    caption = ", ".join(f"{counts[name]} {name}" for name in ORDER if counts[name])
    made = Table(box=SIMPLE, caption=caption, caption_justify="left", pad_edge=False)
    cells = [_cells(run, now) for run, now in ordered[: max(rows, 1)]]
    widths = [max(map(len, column)) + 3 for column in zip(COLUMNS, *cells, strict=True)]
    shown = _fitting(widths, width)
    room = width - sum(widths[index] for index in shown[1:])
    name = max(room - 3, LEAST)
    made.add_column(COLUMNS[0], no_wrap=True, max_width=name)
    for index in shown[1:]:
        made.add_column(COLUMNS[index], justify="right" if index >= 2 else "left", no_wrap=True)
    for label, *row in cells:
        made.add_row(cut(label, name), *(Text(row[index - 1]) for index in shown[1:]))
    return made


def cut(label: str, length: int) -> Text:
    """Return the label of a run, without its middle where it is too long: the seed tells it apart.

    >>> cut("c3-cifar10 CBS-15-2-A equal-noise seed 12", 26).plain
    'c3-cifar10 CBS-15… seed 12'
    """
    name, word, seed = label.rpartition(" seed ")
    room = length - len(word + seed) - 1
    return Text(label if len(label) <= length else f"{name[:room]}…{word}{seed}")


def _fitting(widths: Sequence[int], width: int) -> list[int]:
    """Return the columns that a line has room for, beside so much of the run's name."""
    needed = [min(widths[0], LEAST), *widths[1:]]
    kept = list(range(len(widths)))
    for name in SPARE:
        if sum(needed[index] for index in kept) <= width:
            break
        kept.remove(COLUMNS.index(name))
    return kept


def _rank(status: str) -> int:
    return ORDER.index(status) if status in ORDER else len(ORDER)


def _cells(run: Identity, now: Standing) -> tuple[str, ...]:
    return (
        run.label,
        now.error[:40] if now.status == FAILED and now.error else now.status,
        f"{now.epoch}/{run.case.recipe.epochs}",
        f"{now.update:,}/{run.updates}",
        "" if now.batch_size is None else str(now.batch_size),
        now.headline,
        clock(now.left) if now.status == RUNNING and now.left is not None else "",
    )


def clock(seconds: float) -> str:
    """Write a time.

    >>> clock(7.3), clock(75), clock(3 * 3600 + 120)
    ('7 s', '1 min 15 s', '3 h 02 min')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02} min"
