import json
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rebatch.data.sets import load
from rebatch.errors import InputError, RunError

PARSED = {
    "gold_label": "contradiction",
    "sentence1": "It's (very) late.",
    "sentence2": "No.",
    "sentence1_binary_parse": "( ( It 's ) ( ( -LRB- very -RRB- ) ( late . ) ) )",
    "sentence2_binary_parse": "( No . )",
}


def pair(label: str, premise: str, hypothesis: str) -> dict[str, str]:
    return {"gold_label": label, "sentence1": premise, "sentence2": hypothesis}


def write(path: Path, *records: object) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records))


def words(pairs: object, split: str, row: int) -> list[str]:
    return [pairs.vocabulary[number] for number in pairs[split].premises[row] if number]


@pytest.fixture
def snli(tmp_path: Path) -> Path:
    folder = tmp_path / "snli_1.0"
    write(
        folder / "snli_1.0_dev.jsonl", pair("entailment", "A man .", "A b ."), pair("-", "x", "y")
    )
    write(folder / "snli_1.0_test.jsonl", PARSED, pair("neutral", "a man .", "Who"))
    return tmp_path


def test_named_splits_load_without_the_others(snli: Path):
    pairs = load("snli", snli, splits=("dev", "test"))
    assert pairs.counts == {"dev": 1, "test": 2}
    with pytest.raises(InputError, match=r"snli_1.0_train.jsonl.*run: rebatch data get snli"):
        load("snli", snli)


def test_labels_are_numbered_and_pairs_without_agreement_dropped(snli: Path):
    pairs = load("snli", snli, splits=("dev", "test"))
    assert pairs["dev"].labels.tolist() == [0]
    assert pairs["test"].labels.tolist() == [2, 1]


def test_tokens_come_from_the_binary_parse_or_else_from_blanks_and_keep_their_case(snli: Path):
    pairs = load("snli", snli, splits=("dev", "test"))
    assert words(pairs, "test", 0) == ["It", "'s", "-LRB-", "very", "-RRB-", "late", "."]
    assert words(pairs, "test", 1) == ["a", "man", "."]
    assert words(pairs, "dev", 0) == ["A", "man", "."]


def test_sentences_are_cut_at_fifty_words(tmp_path: Path):
    write(tmp_path / "snli_1.0/snli_1.0_dev.jsonl", pair("neutral", "w " * 60, "v"))
    pairs = load("snli", tmp_path, splits=("dev",))
    assert pairs["dev"].premises.shape == (1, 50)


def test_multinli_gives_both_validation_sets_and_the_two_pooled(tmp_path: Path):
    folder = tmp_path / "multinli_1.0"
    write(folder / "multinli_1.0_train.jsonl", PARSED)
    write(folder / "multinli_1.0_dev_matched.jsonl", pair("neutral", "a b c", "d"))
    write(folder / "multinli_1.0_dev_mismatched.jsonl", pair("entailment", "a", "d"), PARSED)
    pairs = load("multinli", tmp_path)
    assert pairs.counts == {"train": 1, "matched": 1, "mismatched": 2, "pooled": 3}
    assert pairs["pooled"].labels.tolist() == [1, 0, 2]


def write_sick(path: Path, *lines: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join(lines) + "\n")


def test_sick_reads_the_three_files_of_semeval(tmp_path: Path):
    head = "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment"
    for name in ("train", "trial", "test_annotated"):
        row = '1\tA "man" is here\tNobody\t3.2\tCONTRADICTION'
        write_sick(tmp_path / f"sick/SICK_{name}.txt", head, row)
    pairs = load("sick", tmp_path)
    assert pairs.counts == {"train": 1, "trial": 1, "test": 1}
    assert words(pairs, "trial", 0) == ["A", '"man"', "is", "here"]
    assert pairs["train"].labels.tolist() == [2]


def test_sick_reads_the_one_file_of_the_archive(tmp_path: Path):
    head = "pair_ID\tsentence_A\tsentence_B\tentailment_label\trelatedness_score\tSemEval_set"
    rows = [
        f"{n}\ta\tb\tNEUTRAL\t1\t{part}"
        for n, part in enumerate(["TRAIN", "TEST", "TRIAL", "TRAIN"])
    ]
    write_sick(tmp_path / "sick/SICK.txt", head, *rows)
    assert load("sick", tmp_path).counts == {"train": 2, "trial": 1, "test": 1}


@pytest.mark.parametrize(
    "line",
    [
        "{",
        "[1]",
        "null",
        '{"gold_label": "neutral"}',
        json.dumps(pair("maybe", "a", "b")),
        json.dumps(PARSED | {"gold_label": ["neutral"]}),
        json.dumps(PARSED | {"sentence1_binary_parse": 1}),
    ],
)
def test_a_bad_line_is_named(snli: Path, line: str):
    path = snli / "snli_1.0/snli_1.0_dev.jsonl"
    path.write_text(path.read_text() + line + "\n")
    with pytest.raises(RunError, match=r"snli_1.0_dev.jsonl, line 3, is not a pair"):
        load("snli", snli, splits=("dev",))


def test_a_short_line_of_sick_is_named(tmp_path: Path):
    write_sick(tmp_path / "sick/SICK.txt", "sentence_A\tsentence_B\tSemEval_set", "a\tb\tTRAIN")
    with pytest.raises(
        RunError, match=r"SICK.txt, line 2, is not a pair: no column 'entailment_label'"
    ):
        load("sick", tmp_path, splits=("train",))


def test_a_split_without_pairs_is_refused(snli: Path):
    write(snli / "snli_1.0/snli_1.0_dev.jsonl", pair("-", "x", "y"))
    with pytest.raises(RunError, match="no labelled pair in split dev"):
        load("snli", snli, splits=("dev",))


@pytest.mark.parametrize(
    ("options", "message"),
    [({"splits": ("valid",)}, "splits must be one of train, dev, test, got 'valid'"),
     ({"max_length": 0}, "max_length must be a whole number of at least 1, got 0"),
     ({"vocabulary": ("a",)}, "vocabulary must start with")],
)  # fmt: skip
def test_wrong_options_are_refused(snli: Path, options: dict[str, object], message: str):
    with pytest.raises(InputError, match=message):
        load("snli", snli, **options)


@settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(lines=st.lists(st.binary(max_size=30) | st.just(json.dumps(PARSED).encode()), max_size=3))
def test_any_bytes_give_pairs_or_a_run_error(snli: Path, lines: list[bytes]):
    (snli / "snli_1.0/snli_1.0_dev.jsonl").write_bytes(b"\n".join(lines))
    with suppress(RunError):
        assert len(load("snli", snli, splits=("dev",))["dev"]) >= 1
