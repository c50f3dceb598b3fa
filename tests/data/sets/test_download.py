import hashlib
import random
import sys
from pathlib import Path

import pytest

from rebatch.data.sets.download import download
from rebatch.errors import InputError, RunError

BODY = random.Random(0).randbytes(300_000)


def test_a_file_arrives_whole(server, tmp_path: Path):
    server.files["a.zip"] = BODY
    md5 = hashlib.md5(BODY).hexdigest()
    download(f"{server.url}/a.zip", tmp_path / "a.zip", checksum=f"md5:{md5}")
    assert (tmp_path / "a.zip").read_bytes() == BODY
    assert [path.name for path in tmp_path.iterdir()] == ["a.zip"]


def test_a_broken_download_is_continued_where_it_ended(server, tmp_path: Path):
    server.files["a.zip"], server.break_after = BODY, 200_000
    with pytest.raises(RunError, match=r"could not be fetched: .* what arrived is kept"):
        download(f"{server.url}/a.zip", tmp_path / "a.zip", checksum=None)
    kept = (tmp_path / "a.zip.part").stat().st_size
    assert 0 < kept <= 200_000
    server.break_after = None
    download(f"{server.url}/a.zip", tmp_path / "a.zip", checksum=None)
    assert server.ranges == [None, f"bytes={kept}-"]
    assert (tmp_path / "a.zip").read_bytes() == BODY


def test_a_server_that_knows_no_ranges_sends_it_all_again(server, tmp_path: Path):
    server.files["a.zip"], server.ignore_ranges = BODY, True
    (tmp_path / "a.zip.part").write_bytes(BODY[:1000])
    download(f"{server.url}/a.zip", tmp_path / "a.zip", checksum=None)
    assert (tmp_path / "a.zip").read_bytes() == BODY


def test_what_is_longer_than_the_file_is_dropped(server, tmp_path: Path):
    server.files["a.zip"] = b"short"
    (tmp_path / "a.zip.part").write_bytes(BODY)
    with pytest.raises(RunError, match="416"):
        download(f"{server.url}/a.zip", tmp_path / "a.zip", checksum=None)
    download(f"{server.url}/a.zip", tmp_path / "a.zip", checksum=None)
    assert (tmp_path / "a.zip").read_bytes() == b"short"


def test_an_error_of_the_server_keeps_what_arrived(server, tmp_path: Path):
    (tmp_path / "a.zip.part").write_bytes(BODY[:1000])
    with pytest.raises(RunError, match="404"):
        download(f"{server.url}/a.zip", tmp_path / "a.zip", checksum=None)
    assert (tmp_path / "a.zip.part").read_bytes() == BODY[:1000]


def test_a_wrong_checksum_leaves_nothing(server, tmp_path: Path):
    server.files["a.zip"] = BODY
    wrong = "md5:" + "0" * 32
    with pytest.raises(RunError, match=f"a.zip is refused: its checksum is not {wrong}"):
        download(f"{server.url}/a.zip", tmp_path / "a.zip", checksum=wrong)
    assert list(tmp_path.iterdir()) == []


def test_an_unreachable_server_is_one_line(tmp_path: Path):
    with pytest.raises(RunError, match="could not be fetched") as error:
        download("http://127.0.0.1:1/a.zip", tmp_path / "a.zip", checksum=None)
    assert "\n" not in str(error.value)
    assert "kept" not in str(error.value)  # nothing arrived


def test_without_pooch_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(InputError, match=r"run: pip install 'rebatch\[data\]'"):
        download("http://127.0.0.1:1/a.zip", tmp_path / "a.zip", checksum=None)
