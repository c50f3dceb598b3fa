from pathlib import Path
from urllib.parse import urlsplit

import pytest

from rebatch.data.sets import SETS, data_root, find, load
from rebatch.data.sets.nli import SICK, SNLI
from rebatch.errors import InputError

DOCS = Path(__file__).parents[3] / "docs" / "data.md"


def test_the_root_is_the_argument_then_the_variable_then_the_cache(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HOME", "/home/me")
    monkeypatch.setenv("REBATCH_DATA", "~/sets")
    assert data_root("there") == Path("there")
    assert data_root() == Path("/home/me/sets")
    monkeypatch.delenv("REBATCH_DATA")
    assert data_root() == Path("/home/me/.cache/rebatch")


def test_load_looks_in_the_root_of_the_variable(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("REBATCH_DATA", str(tmp_path))
    with pytest.raises(InputError, match=rf"run: rebatch data get cifar10 --data {tmp_path}$"):
        load("cifar10")


def test_ten_data_sets_are_known_by_name():
    assert [data_set.name for data_set in SETS] == [
        *("digits", "cifar10", "cifar100", "imagenet", "ptb"),
        *("wikitext-2", "snli", "multinli", "sick", "glove"),
    ]


@pytest.mark.parametrize(
    ("wrong", "hint"),
    [
        ("cifar-10", "; did you mean cifar10?"),
        ("wikitext2", "; did you mean wikitext-2?"),
        ("x", ""),
    ],
)
def test_a_wrong_name_offers_the_nearest(wrong: str, hint: str):
    with pytest.raises(InputError) as error:
        find(wrong)
    assert str(error.value).endswith(f", glove, got {wrong}{hint}")


def test_only_checksums_that_the_authors_publish_are_known():
    known = {
        each.name: each.source.checksum for each in SETS if each.source and each.source.checksum
    }
    assert known == {
        "cifar10": "md5:c58f30108f718f92721af3b95e74349a",
        "cifar100": "md5:eb9058c3a382ffc7106e4002c42a8d85",
    }


def test_the_archive_is_the_last_part_of_the_address():
    assert SICK.source is not None
    assert SICK.source.archive == "SICK.zip"


def test_either_layout_makes_a_data_set_complete(tmp_path: Path):
    assert SICK.layout(tmp_path) is None
    (tmp_path / "sick").mkdir()
    for name in ("SICK_train.txt", "SICK_trial.txt", "SICK_test_annotated.txt"):
        (tmp_path / "sick" / name).write_text("12345")
    assert SICK.layout(tmp_path) is SICK.layouts[1]
    assert SICK.size(tmp_path) == 15
    (tmp_path / "sick" / "SICK.txt").touch()
    assert SICK.layout(tmp_path) is SICK.layouts[0]


def test_what_is_missing_is_told(tmp_path: Path):
    (tmp_path / "snli_1.0").mkdir()
    assert SNLI.begun(tmp_path)
    (tmp_path / "snli_1.0" / "snli_1.0_dev.jsonl").touch()
    assert SNLI.missing(tmp_path) == ["snli_1.0_train.jsonl", "snli_1.0_test.jsonl"]


def test_the_docs_name_the_host_that_each_data_set_comes_from():
    sources = DOCS.read_text().partition("## Sources")[2]
    hosts = {urlsplit(each.source.url).hostname for each in SETS if each.source}
    assert {host for host in hosts if f"https://{host}" not in sources} == set()
