from dataclasses import replace
from pathlib import Path

import pytest

from rebatch.data.sets.check import check
from rebatch.data.sets.dataset import DataSet
from rebatch.data.sets.digits import DIGITS
from rebatch.data.sets.record import Record, sha256, write_record
from rebatch.data.sets.text import PTB


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "penn-treebank").mkdir()
    for split in ("train", "valid", "test"):
        (tmp_path / "penn-treebank" / f"ptb.{split}.txt").write_text("a b\n")
    return tmp_path


@pytest.fixture
def tiny() -> DataSet:
    counts = {"train": 3, "valid": 3, "test": 3, "vocabulary": 3}
    return replace(PTB, layouts=(replace(PTB.layouts[0], counts=counts),))


def test_a_data_set_as_it_must_be_has_no_problems(root: Path, tiny: DataSet):
    verdict = check(tiny, root)
    assert verdict.problems == ()
    assert str(verdict) == "train 3, valid 3, test 3, vocabulary 3; no recorded checksums compared"
    assert check(DIGITS, root).problems == ()


def test_wrong_counts_are_listed(root: Path):
    assert check(PTB, root).problems == (
        "train must be 929,589, got 3",
        "valid must be 73,760, got 3",
        "test must be 82,430, got 3",
        "vocabulary must be 10,000, got 3",
    )


def test_missing_files_are_listed_with_what_to_run(root: Path):
    (root / "penn-treebank/ptb.test.txt").unlink()
    assert check(PTB, root).problems == (
        f"ptb.test.txt must be in {root / 'penn-treebank'}, got none; "
        f"run: rebatch data get ptb --data {root}",
    )


def test_a_file_that_cannot_be_read_is_a_problem(root: Path, tiny: DataSet):
    (root / "penn-treebank/ptb.test.txt").write_bytes(b"\xff")
    (problem,) = check(tiny, root).problems
    assert "ptb.test.txt is not a text in UTF-8" in problem


def test_a_file_unlike_the_recorded_one_is_a_problem(root: Path, tiny: DataSet):
    files = {name: sha256(root / "penn-treebank" / name) for name in tiny.layouts[0].files}
    (root / ".rebatch").mkdir()
    write_record(root, "ptb", Record("", "", files))
    assert str(check(tiny, root)).endswith("; 3 recorded checksums compared")
    (root / "penn-treebank/ptb.test.txt").write_text("b a\n")
    (problem,) = check(tiny, root).problems
    assert problem.endswith("ptb.test.txt must be the file downloaded, got one of another sha256")


def test_a_damaged_record_is_a_problem(root: Path, tiny: DataSet):
    (root / ".rebatch").mkdir()
    (root / ".rebatch/ptb.json").write_text("{")
    (problem,) = check(tiny, root).problems
    assert "ptb.json is not a readable record" in problem
