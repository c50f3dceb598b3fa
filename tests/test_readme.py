"""What the README shows is what happens."""

import contextlib
import io
import json
import re
from pathlib import Path

import pytest

from rebatch.report import reproduction

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
SHOWN = re.compile(r"^```python\n(.*?)^```\n\n```\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ROW = re.compile(
    r"^\| `([\w-]+)` \(([^)]+)\) \| (\S+) \| ([\d.]+) \| ([\d.]+) \| ([\d,]+) \|$", re.MULTILINE
)


def test_the_code_of_the_readme_prints_what_stands_below_it():
    names: dict[str, object] = {}
    shown = SHOWN.findall(README)
    assert len(shown) == 2
    for code, output in shown:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(code, names)
        assert printed.getvalue() == output


def test_the_readme_table_of_results_comes_from_the_records():
    rows = ROW.findall(README)
    assert len(rows) == 5
    for recipe, metric, schedule, ours, _, updates in rows:
        folder = ROOT / "results" / recipe / schedule / "seed0"
        result = json.loads((folder / "result.json").read_text())
        name = metric.split(",")[0].replace(" ", "_")
        assert f"{result['final'][name]:.2f}" == ours
        assert f"{result['updates']:,}" == updates


def test_the_readme_table_of_results_quotes_the_paper():
    published = json.loads((ROOT / "src/rebatch/report/published.json").read_text())
    final = (cell for cell in published if cell["part"] == "final" and cell["variant"] is None)
    figures = {(cell["recipe"], cell["schedule"]): cell["value"] for cell in final}
    for recipe, _, schedule, _, paper, _ in ROW.findall(README):
        assert figures[recipe, schedule] == float(paper)


def test_the_page_of_results_is_made_from_the_records():
    text = (ROOT / "docs/results.md").read_text(encoding="utf-8")
    assert text == f"# Results beside the paper's\n\n{reproduction(ROOT / 'results')}"


@pytest.mark.parametrize("word", ["make demo", "make test"])
def test_the_readme_names_the_two_commands(word):
    assert word in README


def test_the_table_of_plans_in_the_readme_is_what_the_command_prints(capsys, monkeypatch):
    from rebatch.cli import main

    monkeypatch.setenv("COLUMNS", "80")
    command = re.search(r"^\$ rebatch (plan .*)$", README, re.MULTILINE)
    assert command
    assert main(command[1].split()) == 0
    printed = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    shown = README[command.end() :].split("```")[0].strip("\n").splitlines()
    assert all(line.rstrip() in printed for line in shown)
