"""Natural-language inference: SNLI and MultiNLI (JSON lines), SICK (tab-separated)."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path

from rebatch.data.sets.dataset import DataSet, Folder, Layout, Source
from rebatch.data.sets.pairs import LABELS, SPECIAL, Pair, Pairs, number_pairs
from rebatch.errors import InputError, RunError, one_of, positive_int

Rows = Iterator[Pair]
SNLI_FILES = {split: (f"snli_1.0_{split}.jsonl",) for split in ("train", "dev", "test")}
MATCHED, MISMATCHED = "multinli_1.0_dev_matched.jsonl", "multinli_1.0_dev_mismatched.jsonl"
MULTINLI_FILES = {
    "train": ("multinli_1.0_train.jsonl",),
    "matched": (MATCHED,),
    "mismatched": (MISMATCHED,),
    "pooled": (MATCHED, MISMATCHED),
}
SICK_FILES = {
    "train": "SICK_train.txt",
    "trial": "SICK_trial.txt",
    "test": "SICK_test_annotated.txt",
}


def read_nli(
    folder: Folder,
    *,
    rows: Callable[[Folder, str], Rows],
    known: tuple[str, ...],
    splits: Sequence[str] | None = None,
    max_length: int = 50,
    vocabulary: Sequence[str] | None = None,
) -> Pairs:
    """Read the ``splits`` named, or all; their words together are the vocabulary."""
    max_length = positive_int("max_length", max_length)
    if vocabulary is not None and tuple(vocabulary[:2]) != SPECIAL:
        raise InputError(f"vocabulary must start with {SPECIAL}, got {tuple(vocabulary[:2])}")
    chosen = [one_of("splits", split, known) for split in splits or known]
    found = {split: rows(folder, split) for split in chosen}
    pairs = number_pairs(found, max_length=max_length, vocabulary=vocabulary)
    for split, count in pairs.counts.items():
        if not count:
            raise RunError(f"{folder.path} is not complete: no labelled pair in split {split}")
    return pairs


def json_rows(folder: Folder, split: str, *, files: Mapping[str, tuple[str, ...]]) -> Rows:
    """Give the labelled pairs of a split, file after file."""
    return chain.from_iterable(_json_file(folder.file(name)) for name in files[split])


def _json_file(path: Path) -> Rows:
    for number, line in _lines(path):
        try:
            record = json.loads(line)
            label, sentences = record["gold_label"], (_tokens(record, 1), _tokens(record, 2))
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
            raise RunError(f"{path}, line {number}, is not a pair: {error!r}") from error
        if label != "-":  # the annotators did not agree
            yield *sentences, _label(label, path, number)


def _tokens(record: dict[str, str], number: int) -> list[str]:
    """Take the leaves of the binary parse, or split the sentence on blanks where there is none."""
    parse = record.get(f"sentence{number}_binary_parse")
    if parse is None:
        return record[f"sentence{number}"].split()
    return [token for token in parse.split() if token not in ("(", ")")]


def sick_rows(folder: Folder, split: str) -> Rows:
    """Give the pairs of a split, from the one file of the archive or the three of SemEval 2014."""
    if folder.has("SICK.txt"):
        return _sick_file(folder.file("SICK.txt"), label="entailment_label", only=split.upper())
    return _sick_file(folder.file(SICK_FILES[split]), label="entailment_judgment")


def _sick_file(path: Path, *, label: str, only: str | None = None) -> Rows:
    lines = _lines(path)
    columns = next(lines, (0, ""))[1].split("\t")
    for number, line in lines:
        record = dict(zip(columns, line.split("\t"), strict=False))
        try:
            if only is None or record["SemEval_set"] == only:
                sentences = record["sentence_A"].split(), record["sentence_B"].split()
                yield *sentences, _label(record[label].lower(), path, number)
        except KeyError as error:
            raise RunError(f"{path}, line {number}, is not a pair: no column {error}") from error


def _label(label: object, path: Path, number: int) -> int:
    if not isinstance(label, str) or label not in LABELS:
        raise RunError(f"{path}, line {number}, is not a pair: its label is {label!r}")
    return LABELS[label]


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """Number the lines that are not blank from 1."""
    try:
        with path.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, start=1):
                if line.strip():
                    yield number, line.rstrip("\r\n")
    except UnicodeDecodeError as error:
        raise RunError(f"{path} is not a text in UTF-8: {error}") from error


# None of the three archives has a checksum published by its authors that could be cited here.
SNLI = DataSet(
    name="snli",
    what="sentence pairs, 3 labels",
    folder="snli_1.0",
    layouts=(
        Layout(
            files=tuple(chain.from_iterable(SNLI_FILES.values())),
            counts={"train": 549_367, "dev": 9_842, "test": 9_824},
        ),
    ),
    read=partial(read_nli, rows=partial(json_rows, files=SNLI_FILES), known=tuple(SNLI_FILES)),
    source=Source(
        url="https://nlp.stanford.edu/projects/snli/snli_1.0.zip",
        inside="snli_1.0",
        max_bytes=2_000_000_000,
    ),
)
MULTINLI = DataSet(
    name="multinli",
    what="sentence pairs, 3 labels",
    folder="multinli_1.0",
    layouts=(
        Layout(
            files=("multinli_1.0_train.jsonl", MATCHED, MISMATCHED),
            counts={"train": 392_702, "matched": 9_815, "mismatched": 9_832, "pooled": 19_647},
        ),
    ),
    read=partial(
        read_nli, rows=partial(json_rows, files=MULTINLI_FILES), known=tuple(MULTINLI_FILES)
    ),
    source=Source(
        url="https://cims.nyu.edu/~sbowman/multinli/multinli_1.0.zip",
        inside="multinli_1.0",
        max_bytes=2_000_000_000,
    ),
)
SICK = DataSet(
    name="sick",
    what="sentence pairs, 3 labels",
    folder="sick",
    layouts=(
        Layout(files=("SICK.txt",), counts={"train": 4_439, "trial": 495, "test": 4_906}),
        Layout(
            files=tuple(SICK_FILES.values()), counts={"train": 4_500, "trial": 500, "test": 4_927}
        ),
    ),
    read=partial(read_nli, rows=sick_rows, known=tuple(SICK_FILES)),
    source=Source(
        url="https://zenodo.org/records/2787612/files/SICK.zip?download=1",
        inside="",
        max_bytes=20_000_000,
    ),
)
