"""The page on speed shows what the records hold."""

from pathlib import Path

import pytest

from rebatch.records import read_json
from rebatch.report._speed import speed_markdown

ROOT = Path(__file__).parent.parent.parent
RECORDS = sorted((ROOT / "results" / "bench").glob("[cg]pu-*.json"))
PAGE = (ROOT / "docs" / "speed.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.stem)
def test_the_tables_of_the_page_come_from_the_records(path):
    assert speed_markdown(read_json(path)) in PAGE


def test_the_page_says_where_nothing_was_measured():
    measured = any(path.stem.startswith("gpu") for path in RECORDS)
    assert measured != ("has not been measured on a GPU yet" in PAGE)
