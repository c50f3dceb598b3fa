import gzip
import io
import tarfile
import zipfile
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rebatch.data.sets.archive import unpack
from rebatch.errors import RunError


def tar_of(path: Path, members: dict[str, bytes], *extra: tarfile.TarInfo) -> Path:
    with tarfile.open(path, "w:gz") as packed:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            packed.addfile(info, io.BytesIO(content))
        for info in extra:
            packed.addfile(info)
    return path


def zip_of(path: Path, members: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in members.items():
            packed.writestr(name, content)
    return path


def special(name: str, kind: bytes, target: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


@pytest.fixture
def into(tmp_path: Path) -> Path:
    (tmp_path / "deep" / "into").mkdir(parents=True)
    return tmp_path / "deep" / "into"


@pytest.mark.parametrize("pack", [tar_of, zip_of])
def test_only_the_files_wanted_are_written(tmp_path: Path, into: Path, pack):
    archive = pack(tmp_path / "a", {"./set/one": b"1", "set/two": b"2", "other/one": b"3"})
    unpack(archive, "set", ["one"], into, 1000)
    assert {path.name: path.read_bytes() for path in into.iterdir()} == {"one": b"1"}


@pytest.mark.parametrize("pack", [tar_of, zip_of])
@pytest.mark.parametrize("name", ["../evil", "set/../../evil", "/evil", "set\\..\\evil"])
def test_an_archive_with_a_member_that_leaves_the_folder_is_refused(
    tmp_path: Path, into: Path, pack, name: str
):
    archive = pack(tmp_path / "a", {"set/one": b"1", name: b"2"})
    with pytest.raises(RunError, match=r"a is refused: its member .*evil' leaves the folder"):
        unpack(archive, "set", ["one"], into, 1000)
    assert list(into.iterdir()) == []
    assert not list(tmp_path.rglob("*evil*"))


@pytest.mark.parametrize(
    "kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE]
)
def test_a_tar_with_a_link_or_device_is_refused(tmp_path: Path, into: Path, kind: bytes):
    archive = tar_of(tmp_path / "a", {"set/one": b"1"}, special("set/two", kind, "/etc/passwd"))
    with pytest.raises(RunError, match="'set/two' is a link or a device"):
        unpack(archive, "set", ["one"], into, 1000)
    assert list(into.iterdir()) == []


def test_a_zip_with_a_symbolic_link_is_refused(tmp_path: Path, into: Path):
    link = zipfile.ZipInfo("set/one")
    link.create_system, link.external_attr = 3, 0o120777 << 16
    with zipfile.ZipFile(tmp_path / "a", "w") as packed:
        packed.writestr(link, "/etc/passwd")
    with pytest.raises(RunError, match="'set/one' is a link or a device"):
        unpack(tmp_path / "a", "set", ["one"], into, 1000)
    assert list(into.iterdir()) == []


@pytest.mark.parametrize("pack", [tar_of, zip_of])
def test_an_archive_that_unpacks_to_too_much_is_refused(tmp_path: Path, into: Path, pack):
    archive = pack(tmp_path / "a", {"set/one": b"1", "set/huge": bytes(10_000)})
    with pytest.raises(RunError, match="'set/huge' takes it over 10000 bytes"):
        unpack(archive, "set", ["one"], into, 10_000)
    assert list(into.iterdir()) == []


@pytest.mark.parametrize("pack", [tar_of, zip_of])
def test_an_archive_without_a_file_wanted_is_refused(tmp_path: Path, into: Path, pack):
    archive = pack(tmp_path / "a", {"set/one": b"1"})
    with pytest.raises(RunError, match="a must hold set/two, and does not"):
        unpack(archive, "set", ["one", "two"], into, 1000)


def test_a_folder_in_the_place_of_a_file_is_refused(tmp_path: Path, into: Path):
    archive = tar_of(tmp_path / "a", {}, special("set/one", tarfile.DIRTYPE))
    with pytest.raises(RunError, match="set/one must be a file, and is a folder"):
        unpack(archive, "set", ["one"], into, 1000)


def test_a_tar_that_goes_on_after_its_end_is_refused(tmp_path: Path, into: Path):
    archive = tar_of(tmp_path / "a", {"set/one": b"1"})
    archive.write_bytes(archive.read_bytes() + gzip.compress(bytes(2**20)))
    with pytest.raises(RunError, match="it goes on after its end"):
        unpack(archive, "set", ["one"], into, 1000)


def test_a_file_that_is_no_archive_is_refused(tmp_path: Path, into: Path):
    (tmp_path / "a").write_text("<html>moved</html>")
    with pytest.raises(RunError, match="a is not a readable archive"):
        unpack(tmp_path / "a", "set", ["one"], into, 1000)


@settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(place=st.integers(0, 200), byte=st.integers(0, 255), pack=st.sampled_from([tar_of, zip_of]))
def test_a_damaged_archive_gives_the_file_or_a_run_error(tmp_path, into, place, byte, pack):
    archive = pack(tmp_path / "a", {"set/one": b"content"})
    whole = bytearray(archive.read_bytes())
    whole[place % len(whole)] = byte
    archive.write_bytes(whole)
    (into / "one").unlink(missing_ok=True)
    with suppress(RunError):
        unpack(archive, "set", ["one"], into, 1000)
        assert (into / "one").read_bytes() == b"content"
