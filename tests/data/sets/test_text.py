from pathlib import Path

import pytest
import torch

from rebatch.data.sets import load
from rebatch.errors import InputError, RunError


@pytest.fixture
def ptb(tmp_path: Path) -> Path:
    folder = tmp_path / "penn-treebank"
    folder.mkdir()
    (folder / "ptb.train.txt").write_text(" the cat sat \n the cat \n")
    (folder / "ptb.valid.txt").write_text(" a cat \n")
    (folder / "ptb.test.txt").write_text("\n the dog ")
    return tmp_path


def test_every_line_ends_in_eos_and_words_are_numbered_as_they_occur(ptb: Path):
    corpus = load("ptb", ptb)
    assert corpus.vocabulary == ("the", "cat", "sat", "<eos>", "a", "dog")
    assert corpus.train.tolist() == [0, 1, 2, 3, 0, 1, 3]
    assert corpus.valid.tolist() == [4, 1, 3]
    assert corpus.test.tolist() == [3, 0, 5, 3]
    assert corpus.train.dtype == torch.int64
    assert corpus.counts == {"train": 7, "valid": 3, "test": 4, "vocabulary": 6}


def test_wikitext_has_its_own_file_names_and_unicode(tmp_path: Path):
    folder = tmp_path / "wikitext-2"
    folder.mkdir()
    for split in ("train", "valid", "test"):
        (folder / f"wiki.{split}.tokens").write_text(" \n = Homarus – 5 = \n", encoding="utf-8")
    corpus = load("wikitext-2", tmp_path)
    assert corpus.vocabulary == ("<eos>", "=", "Homarus", "–", "5")
    assert corpus.test.tolist() == [0, 1, 2, 3, 4, 1, 0]


def test_a_missing_split_says_what_to_run(tmp_path: Path):
    with pytest.raises(InputError, match=r"ptb.train.txt, got .* run: rebatch data get ptb --data"):
        load("ptb", tmp_path)


def test_an_empty_split_is_refused(ptb: Path):
    (ptb / "penn-treebank" / "ptb.valid.txt").write_text("")
    with pytest.raises(RunError, match=r"ptb.valid.txt is not a text to learn from: it is empty"):
        load("ptb", ptb)


def test_bytes_that_are_no_text_are_refused(ptb: Path):
    (ptb / "penn-treebank" / "ptb.test.txt").write_bytes(b"\x80\x04\xff")
    with pytest.raises(RunError, match=r"ptb.test.txt is not a text in UTF-8"):
        load("ptb", ptb)
