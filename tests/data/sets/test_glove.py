from pathlib import Path

import pytest
import torch

from rebatch.data.sets import load
from rebatch.errors import InputError, RunError

WORDS = ("<pad>", "<unk>", "cat", "dog", "Cat")


@pytest.fixture
def glove(tmp_path: Path) -> Path:
    (tmp_path / "glove").mkdir()
    (tmp_path / "glove" / "glove.tiny.3d.txt").write_text(
        "the 1 2 3\ncat 0.5 -1 2e-1\n. . 9 9 9\n<unk> 7 7 7\nat\xa0x 4 5 6\n", encoding="utf-8"
    )
    return tmp_path


def test_known_words_get_their_vectors_and_padding_and_unknown_zeros(glove: Path):
    vectors = load("glove", glove)
    assert vectors.dimensions == 3
    matrix = vectors.matrix(WORDS)
    assert matrix.shape == (5, 3)
    torch.testing.assert_close(matrix[2], torch.tensor([0.5, -1.0, 0.2]))
    assert matrix[:2].tolist() == [[0, 0, 0], [0, 0, 0]]


def test_words_without_a_vector_are_drawn_from_the_seed(glove: Path):
    vectors = load("glove", glove)
    first, again, other = (vectors.matrix(WORDS, seed=seed) for seed in (1, 1, 2))
    assert torch.equal(first, again)
    assert not torch.equal(first[3], other[3])
    assert torch.equal(first[2], other[2])


def test_drawn_vectors_are_standard_normal(glove: Path):
    matrix = load("glove", glove).matrix((*WORDS, *(f"w{n}" for n in range(5000))))[5:]
    assert abs(float(matrix.mean())) < 0.03
    assert abs(float(matrix.std()) - 1) < 0.03


def test_uncased_looks_words_up_in_lower_case(glove: Path):
    matrix = load("glove", glove).matrix(WORDS, uncased=True)
    assert torch.equal(matrix[4], matrix[2])


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("dog 1 2", "2 numbers, not 3"),
        ("dog 1 x 2", "could not convert"),
        ("dog 1 nan 2", "not all finite"),
    ],
)
def test_a_malformed_line_is_named(glove: Path, line: str, why: str):
    path = glove / "glove" / "glove.tiny.3d.txt"
    path.write_text(path.read_text() + line + "\n")
    with pytest.raises(RunError, match=rf"glove.tiny.3d.txt, line 6, .*{why}"):
        load("glove", glove).matrix(WORDS)


@pytest.mark.parametrize("first", ["", "word", "400000 300"])
def test_a_file_of_something_else_is_refused(glove: Path, first: str):
    (glove / "glove" / "glove.tiny.3d.txt").write_text(first)
    with pytest.raises(RunError, match="line 1, is not a word and its vector"):
        load("glove", glove)


def test_a_file_without_any_word_of_the_vocabulary_is_refused(glove: Path):
    with pytest.raises(RunError, match="it has no word of the vocabulary"):
        load("glove", glove).matrix(("<pad>", "?", "zebra"))


def test_of_several_files_the_official_one_is_taken(glove: Path):
    (glove / "glove" / "other.txt").write_text("a 1 2\n")
    with pytest.raises(
        InputError, match=r"one file of GloVe vectors, got glove.tiny.3d.txt, other"
    ):
        load("glove", glove)
    (glove / "glove" / "glove.840B.300d.txt").write_text("a" + " 1" * 300 + "\n")
    assert load("glove", glove).dimensions == 300
