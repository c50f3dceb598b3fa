"""Values as text for three readers: HTML, spreadsheets and scripts."""

import csv
import io
import json
from collections.abc import Iterable, Sequence
from html import escape
from urllib.parse import quote

Value = str | int | float | None


def written(value: Value) -> str:
    """Write a value for people: separators in whole numbers, six digits otherwise.

    >>> [written(value) for value in (12345, 97.25, 0.1 + 0.2, None, "BL")]
    ['12,345', '97.25', '0.3', '', 'BL']
    """
    if value is None:
        return ""
    if isinstance(value, float):
        whole = value.is_integer() and abs(value) < 1e15
        return f"{value:,.0f}" if whole else f"{value:.6g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def csv_text(columns: Sequence[str], rows: Iterable[Sequence[Value]]) -> str:
    """Return a table as CSV, with nothing in it that a spreadsheet would run."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    for row in (columns, *rows):
        writer.writerow([_harmless(value) for value in row])
    return out.getvalue()


def _harmless(value: Value) -> Value:
    formula = isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r"))
    return f"'{value}" if formula else value


def csv_link(name: str, text: str, label: str) -> str:
    """Return a link that saves CSV text carried by the page itself."""
    data = quote(text.encode("utf-8", "replace"))
    return (
        f'<a class="csv" download="{escape(name)}" '
        f'href="data:text/csv;charset=utf-8,{data}">{escape(label)}</a>'
    )


def json_block(value: object) -> str:
    """Return JSON that can stand inside a script element, whatever its texts hold."""
    text = json.dumps(value, allow_nan=False, separators=(",", ":"), default=float)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
