"""Tables and pictures of README and docs come from the records under results/."""

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parent.parent
RESULTS = (ROOT / "docs/results.md").read_text(encoding="utf-8")
REPRODUCTION = (ROOT / "docs/reproduction.md").read_text(encoding="utf-8")
README = (ROOT / "README.md").read_text(encoding="utf-8")
TABLE = re.compile(r"<!-- made by make docs-figures: [^>]* -->\n(.*?)<!-- end -->", re.DOTALL)
FIGURE = re.compile(r"(?<![\w.,])\d+\.\d\d+(?![\w.])")


def load_tool(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


MADE = load_tool("make_docs").made()


@pytest.mark.parametrize("path", MADE, ids=lambda path: path.name)
def test_what_is_generated_is_up_to_date(path):
    written = path.read_text(encoding="utf-8")
    assert written == MADE[path], "make docs-figures would change it"


@pytest.mark.parametrize("text", [README, REPRODUCTION], ids=["README", "reproduction"])
def test_every_figure_of_a_table_stands_on_the_page_of_results(text):
    lines = [line for table in TABLE.findall(text) for line in table.splitlines()]
    figures = {figure for line in lines for figure in FIGURE.findall(line)}
    assert len(figures) >= 8
    assert figures <= set(FIGURE.findall(RESULTS))


def test_every_figure_of_the_text_stands_on_the_page_of_results():
    text, heading, _ = REPRODUCTION.partition("## Where the paper contradicts itself")
    assert heading
    exact = set(FIGURE.findall(text)) - {"0.02", "0.05"}  # two rates
    assert {"95.20", "91.55", "91.71", "91.62", "91.74", "87.11", "49.39", "64.14"} <= exact
    assert exact - set(FIGURE.findall(RESULTS)) == set()


def test_the_readme_has_a_table_of_results():
    (table,) = TABLE.findall(README)
    rows = [line for line in table.splitlines() if line.startswith("| `")]
    assert len(rows) >= 5


def test_pictures_name_what_they_show_and_keep_to_themselves():
    pictures = [text for path, text in MADE.items() if path.suffix == ".svg"]
    assert len(pictures) >= 4
    for text in pictures:
        assert 'role="img" aria-label="' in text
        assert set(re.findall(r"https?://[^\"]+", text)) == {"http://www.w3.org/2000/svg"}
