"""A table of a page: numbers to the right, cells that stand out, and the whole as CSV."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Literal

from rebatch.errors import InputError
from rebatch.report._sheet import shares
from rebatch.report._values import Value, csv_link, csv_text, written

_NUMBER = re.compile(r"[-−+±<>~≈]?\s*[\d.](?!.*, )")
"""A text that starts like a number, and is no list of them."""

EMPTY = ("", "-", "–", "—", "not run", "one member")
"""Texts that stand in for a number that is not there."""

WORDY = 24
"""A text with more characters than this is a sentence, though it start with a number."""

LONG = 40
"""A text with more characters than this may be broken over lines."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A value that stands out: the best of its column, or one to look at."""

    value: Value
    tone: Literal["best", "warn", "quiet", ""] = ""
    note: str = ""
    """Why it stands out: read aloud, and shown when the pointer rests on it."""
    exact: Value | tuple[Value, ...] = None
    """What the CSV has instead: the number or numbers, where ``value`` is a text for people."""


@dataclass(frozen=True, kw_only=True)
class Table:
    """Rows under named columns; a column of numbers is set to the right."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Value | Cell]]
    caption: str = ""
    download: bool | str = True
    """Whether a link saves it as CSV, or the name of that file."""
    saved_as: Sequence[str] = ()
    """The columns of that file, where cells have several numbers for it."""

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                rule = f"have a cell for each of {len(self.columns)} columns"
                raise InputError(f"row must {rule}, got {len(row)}")

    def html(self) -> str:
        """Return the table as HTML."""
        right = [self._is_number(index) for index in range(len(self.columns))]
        head = "".join(
            f'<th scope="col"{_align(number)}>{escape(name)}</th>'
            for name, number in zip(self.columns, right, strict=True)
        )
        body = "".join(f"<tr>{_row(row, right)}</tr>" for row in self.rows)
        label = escape(self.caption or ", ".join(self.columns))
        return (
            f'<div class="table" tabindex="0" role="region" aria-label="{label}">'
            f"{self._open()}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
            f"{self._link()}"
        )

    def _open(self) -> str:
        """Return the start of the table, with widths for paper where it is wider than a sheet."""
        caption = f"<caption>{escape(self.caption)}</caption>" if self.caption else ""
        widths = shares([self._length(index) for index in range(len(self.columns))])
        if not widths:
            return f"<table>{caption}"
        columns = "".join(f'<col width="{width}%">' for width in widths)
        return f'<table class="wide">{caption}<colgroup>{columns}</colgroup>'

    def _length(self, index: int) -> int:
        """Return the most characters in a line of a column; its name may stand in several."""
        texts = [written(_plain(row[index])) for row in self.rows]
        return max(map(len, [*texts, *self.columns[index].split()]), default=0)

    def _is_number(self, index: int) -> bool:
        texts = [written(_plain(row[index])) for row in self.rows]
        filled = [text for text in texts if text not in EMPTY and text[0] != "…"]
        return bool(filled) and all(len(t) <= WORDY and _NUMBER.match(t) for t in filled)

    def _link(self) -> str:
        if not self.download:
            return ""
        name = self.download if isinstance(self.download, str) else "table.csv"
        plain = [[value for cell in row for value in _exact(cell)] for row in self.rows]
        text = csv_text(self.saved_as or self.columns, plain)
        return f'<p class="save">{csv_link(name, text, "CSV")}</p>'


def _plain(cell: Value | Cell) -> Value:
    return cell.value if isinstance(cell, Cell) else cell


def _exact(cell: Value | Cell) -> tuple[Value, ...]:
    exact = cell.exact if isinstance(cell, Cell) else None
    if isinstance(exact, tuple):
        return exact
    return (_plain(cell) if exact is None else exact,)


def _align(number: bool, *more: str) -> str:
    classes = " ".join(name for name in ("n" if number else "", *more) if name)
    return f' class="{classes}"' if classes else ""


def _row(row: Sequence[Value | Cell], right: Sequence[bool]) -> str:
    """Return the cells of a row; the first one is read out with each of the others."""
    cells = [cell if isinstance(cell, Cell) else Cell(cell) for cell in row]
    tags = ['th scope="row"', *["td"] * len(cells)]
    return "".join(map(_cell, cells, right, tags))


def _cell(cell: Cell, number: bool, tag: str) -> str:
    text = written(cell.value)
    said = cell.note or ("best" if cell.tone == "best" else "")
    title = f' title="{escape(cell.note)}"' if cell.note else ""
    aloud = f'<span class="hidden"> ({escape(said)})</span>' if said else ""
    align = _align(number, cell.tone, "long" if len(text) > LONG else "")
    return f"<{tag}{align}{title}>{escape(text)}{aloud}</{tag[:2]}>"
