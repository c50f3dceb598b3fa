"""The figures of docs/probing.md are those of the records under results/probes."""

import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from rebatch.probe import Verdict, design, judge
from rebatch.probe._text import conclusions, table
from rebatch.recipes import find
from rebatch.records import read_json, read_lines

ROOT = Path(__file__).parent.parent.parent
PAGE = (ROOT / "docs" / "probing.md").read_text()
KEPT = ROOT / "results" / "probes" / "digits"


def verdict(name: str) -> Verdict:
    about = read_json(KEPT / name / "probe.json")
    chosen = {key: about[key] for key in ("warm_up", "length", "repeats", "seed")}
    made = design(find("digits"), rule=about["rate"], largest=about["sizes"][-1], **chosen)
    return judge(made, list(read_lines(KEPT / name / "branches.jsonl")))


@pytest.mark.parametrize("name", sorted(path.name for path in KEPT.iterdir()))
def test_branches_give_the_result_that_is_kept_with_them(name):
    found = json.loads(json.dumps(verdict(name).to_dict()))
    kept = read_json(KEPT / name / "result.json")
    assert found.pop("settings")["data"] == kept.pop("settings")["data"]
    assert found == kept


def test_the_example_is_the_probe_after_four_epochs():
    example = verdict("warm-up-4")
    console = Console(width=100, record=True, file=io.StringIO())
    console.print(table(example))
    lines = [*console.export_text().splitlines(), *conclusions(example)]
    assert [line for line in lines if line.rstrip() and line.rstrip() not in PAGE] == []


@pytest.mark.parametrize(
    ("name", "epochs"), [("warm-up-1", "1 epoch"), ("warm-up-12", "12 epochs")]
)
def test_the_other_warm_ups_are_theirs(name, epochs):
    found = verdict(name)
    limit = f"{found.critical}" if found.is_bound else f"{found.critical}, the largest tried"
    assert f"| {epochs} | {found.noise_scale:.0f} | {limit} | {found.code} |" in PAGE


def test_the_other_rates_are_theirs():
    assert verdict("linear").critical == 16
    assert (verdict("constant").critical, verdict("constant").is_bound) == (256, False)
