"""The page: sections put together into one HTML file that needs nothing else."""

import base64
import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from rebatch.report._chart import Chart
from rebatch.report._chart_html import chart_html, shapes_html
from rebatch.report._table import Table
from rebatch.report._values import csv_link


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading under the page's title."""

    text: str
    level: int = 2


@dataclass(frozen=True, slots=True)
class Text:
    """Paragraphs, apart by an empty line; words between backticks are set as code."""

    text: str


@dataclass(frozen=True, slots=True)
class Download:
    """A link that saves CSV text carried by the page itself."""

    name: str
    text: str
    label: str


Section = Heading | Text | Table | Chart | Download


def page(title: str, sections: Sequence[Section | Sequence[Section]]) -> str:
    """Return a self-contained HTML page; sections in a list of their own stand side by side."""
    css, script = (Path(__file__).with_name(name).read_text("utf-8") for name in _PARTS)
    body = "".join(_numbered(sections))
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_policy(css, script)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f'<title>{escape(title)}</title>\n<link rel="icon" href="data:,">\n'
        f"<style>{css}</style>\n</head>\n<body>\n{shapes_html()}\n"
        f"<main>\n<h1>{escape(title)}</h1>\n{_contents(sections)}{body}</main>\n"
        f"<script>{script}</script>\n</body>\n</html>\n"
    )


_PARTS = ("page.css", "chart.js")


def _policy(css: str, script: str) -> str:
    """Return a policy that lets nothing load and nothing run but our own style and script."""
    style, code = (
        base64.b64encode(hashlib.sha256(part.encode()).digest()).decode() for part in (css, script)
    )
    return (
        f"default-src 'none'; img-src data:; style-src 'sha256-{style}'; script-src 'sha256-{code}'"
    )


def _numbered(sections: Sequence[Section | Sequence[Section]]) -> Iterator[str]:
    count = 0
    for section in sections:
        group = [section] if isinstance(section, Section) else section
        parts = []
        for part in group:
            count += 1
            parts.append(_render(part, f"part-{count}"))
        if isinstance(section, Section):
            yield f"{parts[0]}\n"
        else:
            cells = "".join(f"<div>{part}</div>" for part in parts)
            yield f'<div class="beside">{cells}</div>\n'


def _render(section: Section, ident: str) -> str:
    match section:
        case Heading(text, level):
            return f'<h{level} id="{_slug(text)}">{escape(text)}</h{level}>'
        case Text(text):
            return "".join(f"<p>{_prose(part)}</p>" for part in text.split("\n\n") if part.strip())
        case Table():
            return section.html()
        case Chart():
            return chart_html(section, ident)
        case Download(name, text, label):
            return f'<p class="save">{csv_link(name, text, label)}</p>'


def _prose(text: str) -> str:
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text.strip(), quote=False))


def _contents(sections: Sequence[Section | Sequence[Section]]) -> str:
    heads = [s.text for s in sections if isinstance(s, Heading) and s.level == 2]
    if len(heads) < 3:
        return ""
    short = ((text, re.sub(r" \([^)]*\)$", "", text)) for text in heads)
    links = "".join(f'<a href="#{_slug(text)}">{escape(name)}</a>' for text, name in short)
    return f'<nav aria-label="Contents">{links}</nav>\n'


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "section"
