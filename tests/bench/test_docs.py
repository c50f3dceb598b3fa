"""The page on speed shows what the records hold."""

from pathlib import Path

import pytest

from rebatch.records import read_json
from rebatch.report._speed import speed_markdown

ROOT = Path(__file__).parent.parent.parent
FOLDER = ROOT / "results" / "bench"
RECORDS = sorted(FOLDER.glob("[cg]pu-*.json"))
PAGE = (ROOT / "docs" / "speed.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.stem)
def test_the_tables_of_the_page_come_from_the_records(path):
    assert speed_markdown(read_json(path)) in PAGE


@pytest.mark.parametrize("path", sorted(FOLDER.glob("overhead-*.json")), ids=lambda path: path.stem)
def test_the_shares_of_the_page_come_from_the_records(path):
    record = read_json(path)
    told = f"{100 * record['share']:.2f} % of the time\n([record](../results/bench/{path.name})"
    assert f"{record['model']} at {record['batch_size']}" in PAGE
    assert told in PAGE


def test_the_page_says_where_nothing_was_measured():
    measured = any(path.stem.startswith("gpu") for path in RECORDS)
    assert measured != ("has not been measured on a GPU yet" in PAGE)
