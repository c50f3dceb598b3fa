import hashlib
import io
import json
import tarfile
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from rebatch.data.sets import load
from rebatch.data.sets.cifar import CIFAR10
from rebatch.data.sets.digits import DIGITS
from rebatch.data.sets.fetch import get
from rebatch.data.sets.glove import GLOVE
from rebatch.data.sets.imagenet import IMAGENET
from rebatch.data.sets.text import PTB
from rebatch.errors import InputError, RunError

TEXT = b" a cat \n"
SPLITS = ("train", "valid", "test")
PTB_MEMBERS = {f"./simple-examples/data/ptb.{split}.txt": TEXT for split in SPLITS}


def tar(members: dict[str, bytes], link: str | None = None) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
        if link:
            info = tarfile.TarInfo(link)
            info.type, info.linkname = tarfile.SYMTYPE, "/etc/passwd"
            archive.addfile(info)
    return packed.getvalue()


def contents(root: Path) -> list[str]:
    return sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file())


def test_a_data_set_without_a_published_checksum_is_placed_and_its_sum_recorded(server, tmp_path):
    archive = server.files["simple-examples.tgz"] = tar(PTB_MEMBERS | {"./simple-examples/x": b""})
    said = get(PTB, tmp_path, base_url=server.url)
    wanted = hashlib.sha256(archive).hexdigest()
    assert load("ptb", tmp_path).train.tolist() == [0, 1, 2]
    assert "its authors publish no checksum" in said
    assert f"sha256:{wanted} in {tmp_path / '.rebatch/ptb.json'}" in said
    record = json.loads((tmp_path / ".rebatch/ptb.json").read_text())
    assert record["sha256"] == wanted
    assert record["files"]["ptb.test.txt"] == hashlib.sha256(TEXT).hexdigest()
    assert contents(tmp_path) == [
        ".rebatch/ptb.json",
        *(f"penn-treebank/ptb.{split}.txt" for split in ("test", "train", "valid")),
    ]


def test_a_download_unlike_the_recorded_one_is_refused(server, tmp_path):
    server.files["simple-examples.tgz"] = tar(PTB_MEMBERS)
    get(PTB, tmp_path, base_url=server.url)
    for file in (tmp_path / "penn-treebank").iterdir():
        file.unlink()
    server.files["simple-examples.tgz"] = tar(PTB_MEMBERS | {"extra": b"1"})
    with pytest.raises(RunError, match="is refused: its checksum is not sha256:"):
        get(PTB, tmp_path, base_url=server.url)
    assert contents(tmp_path) == [".rebatch/ptb.json"]


def test_a_published_checksum_is_compared_before_anything_is_unpacked(server, tmp_path):
    archive = server.files["cifar-10-python.tar.gz"] = tar(
        {f"cifar-10-batches-py/{name}": b"x" for name in CIFAR10.layouts[0].files}
    )
    with pytest.raises(RunError, match="is not md5:c58f30108f718f92721af3b95e74349a"):
        get(CIFAR10, tmp_path, base_url=server.url)
    assert contents(tmp_path) == []
    md5 = f"md5:{hashlib.md5(archive).hexdigest()}"
    known = replace(CIFAR10, source=replace(CIFAR10.source, checksum=md5))
    said = get(known, tmp_path, base_url=server.url)
    assert said.endswith(f"its checksum is the one its authors publish, {md5}")
    assert (tmp_path / "cifar-10-batches-py/test_batch").read_bytes() == b"x"


def test_a_broken_download_is_continued_by_the_next_get(server, tmp_path):
    noise = {"noise": hashlib.shake_128(b"").digest(300_000)}
    server.files["simple-examples.tgz"], server.break_after = tar(noise | PTB_MEMBERS), 200_000
    with pytest.raises(RunError, match="run it again to go on"):
        get(PTB, tmp_path, base_url=server.url)
    assert not (tmp_path / "penn-treebank").exists()
    server.break_after = None
    get(PTB, tmp_path, base_url=server.url)
    assert server.ranges[1].startswith("bytes=")
    assert load("ptb", tmp_path).counts["train"] == 3


@pytest.mark.parametrize(
    ("archive", "why"),
    [
        (tar(PTB_MEMBERS | {"../evil": b"1"}), "leaves the folder"),
        (tar(PTB_MEMBERS, link="simple-examples/link"), "is a link"),
        (tar(PTB_MEMBERS | {"big": bytes(600)}), "takes it over 600 bytes"),
        (tar({"other": b"1"}), r"must hold simple-examples/data/ptb.test.txt"),
        (b"<html></html>", "is not a readable archive"),
    ],
    ids=["outside", "link", "large", "other", "page"],  # an archive holds the time it was made
)
def test_a_bad_archive_is_refused_and_leaves_nothing(server, tmp_path, archive: bytes, why: str):
    small = replace(PTB, source=replace(PTB.source, max_bytes=600))
    server.files["simple-examples.tgz"] = archive
    root = tmp_path / "root"
    with pytest.raises(RunError, match=why):
        get(small, root, base_url=server.url)
    assert contents(tmp_path) == []
    server.files["simple-examples.tgz"] = tar(PTB_MEMBERS)
    get(small, root, base_url=server.url)
    assert load("ptb", root).counts["train"] == 3


def test_files_that_are_there_are_never_overwritten(server, tmp_path):
    mine = tmp_path / "penn-treebank" / "ptb.valid.txt"
    mine.parent.mkdir()
    mine.write_text("my own words\n")
    server.files["simple-examples.tgz"] = tar(PTB_MEMBERS)
    get(PTB, tmp_path, base_url=server.url)
    assert mine.read_text() == "my own words\n"
    assert load("ptb", tmp_path).counts == {"train": 3, "valid": 4, "test": 3, "vocabulary": 6}


def test_a_data_set_that_is_there_is_not_fetched_again(server, tmp_path):
    server.files["simple-examples.tgz"] = tar(PTB_MEMBERS)
    get(PTB, tmp_path, base_url=server.url)
    assert get(PTB, tmp_path) == f"ptb is already in {tmp_path / 'penn-treebank'}"
    assert get(DIGITS, tmp_path) == "digits is already in the package"
    assert len(server.ranges) == 1


def test_a_zip_with_files_at_its_top_is_placed(server, tmp_path):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("glove.840B.300d.txt", "a" + " 1" * 300 + "\n")
    server.files["glove.840B.300d.zip"] = packed.getvalue()
    get(GLOVE, tmp_path, base_url=f"{server.url}/")
    assert load("glove", tmp_path).dimensions == 300


def test_imagenet_gives_instructions(tmp_path):
    with pytest.raises(InputError, match=r"got imagenet; ask for it at https://image-net.org"):
        get(IMAGENET, tmp_path)


def test_a_root_that_cannot_be_written_is_one_line(server, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(RunError, match=r"ptb could not be put into .*file"):
        get(PTB, tmp_path / "file", base_url=server.url)
