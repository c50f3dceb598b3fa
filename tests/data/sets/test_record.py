from pathlib import Path

import pytest

from rebatch.data.sets.record import Record, read_record, record_path, sha256, write_record
from rebatch.errors import RunError

RECORD = Record("https://example.org/a.zip", "ab", {"a.txt": "cd"})


def test_a_record_is_read_as_it_was_written(tmp_path: Path):
    (tmp_path / ".rebatch").mkdir()
    assert read_record(tmp_path, "ptb") is None
    write_record(tmp_path, "ptb", RECORD)
    assert read_record(tmp_path, "ptb") == RECORD
    assert [path.name for path in (tmp_path / ".rebatch").iterdir()] == ["ptb.json"]


@pytest.mark.parametrize(
    "text", ["", "[]", "null", '{"url": 1}', '{"url":"","sha256":"","files":3}']
)
def test_a_damaged_record_is_named(tmp_path: Path, text: str):
    (tmp_path / ".rebatch").mkdir()
    record_path(tmp_path, "ptb").write_text(text)
    with pytest.raises(RunError, match=r"ptb.json is not a readable record"):
        read_record(tmp_path, "ptb")


def test_the_sum_is_that_of_the_standard(tmp_path: Path):
    (tmp_path / "abc").write_text("abc")
    assert sha256(tmp_path / "abc").startswith("ba7816bf8f01cfea414140de5dae2223")
