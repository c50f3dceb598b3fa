"""What the README shows is what happens."""

import contextlib
import io
import json
import re
from pathlib import Path
from statistics import mean

import pytest

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
SHOWN = re.compile(r"^```python\n(.*?)^```\n\n```\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ROW = re.compile(
    r"^\| `([\w-]+)` \(([^)]+)\) \| ([\w-]+) \| ([\d.]+)(?: ± [\d.]+)? \| [\d.]+ \| \S+ "
    r"\| (one seed|\d+) \| ([\d,]+) \|",
    re.MULTILINE,
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
    assert len(rows) >= 5
    for recipe, metric, schedule, ours, seeds, updates in rows:
        runs = ROOT / "results" / recipe
        # When snapshots are taken changes nothing of the training.
        own, alike = runs / schedule, next(runs.glob(f"{schedule}--snapshots-as-*"), runs)
        found = (own if own.exists() else alike).glob("seed*/result.json")
        results = [json.loads(path.read_text()) for path in found]
        name = metric.split(",")[0].replace(" ", "_")
        assert f"{mean(result['final'][name] for result in results):.2f}" == ours
        assert ("one seed" if len(results) == 1 else str(len(results))) == seeds
        assert f"{results[0]['updates']:,}" == updates


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
