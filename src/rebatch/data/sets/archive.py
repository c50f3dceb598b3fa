"""Take the wanted files out of an archive that nobody has reason to trust."""

import shutil
import stat
import tarfile
import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from errno import EDQUOT, ENOSPC
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO

from rebatch.errors import RunError

PADDING = 2**20


@dataclass(frozen=True)
class Member:
    """One entry of a tar or zip."""

    name: str
    size: int
    plain: bool
    open: Callable[[], IO[bytes] | None]

    @property
    def path(self) -> PurePosixPath:
        """Give its path; ``./a`` is ``a``."""
        return PurePosixPath(self.name)

    @property
    def fault(self) -> str | None:
        """Say why it must not be unpacked, if so."""
        if self.path.is_absolute() or ".." in self.path.parts or "\\" in self.name:
            return "leaves the folder"
        return None if self.plain else "is a link or a device"


def unpack(archive: Path, inside: str, files: Iterable[str], into: Path, max_bytes: int) -> None:
    """Write ``files`` from the folder ``inside`` of the archive, once all its members are judged.

    If any member leaves the folder, is a link or a device, or all of them together have more
    than ``max_bytes``, nothing is written.
    """
    wanted = {PurePosixPath(inside) / name: into / name for name in files}
    try:
        with _opened(archive) as members:
            for member in _judged(archive, members, max_bytes):
                if member.path in wanted:
                    _write(member, wanted.pop(member.path))
    except Exception as error:  # a broken archive can raise anything
        if isinstance(error, RunError) or getattr(error, "errno", None) in (ENOSPC, EDQUOT):
            raise  # a full disk is not the archive's fault
        raise RunError(f"{archive.name} is not a readable archive: {error!r}") from error
    if wanted:
        raise RunError(f"{archive.name} must hold {min(wanted)}, and does not")


def _judged(archive: Path, members: Iterable[Member], max_bytes: int) -> list[Member]:
    """List the members, stopping at the first bad one, before its bytes are decompressed."""
    judged: list[Member] = []
    total = 0
    for member in members:
        total += member.size
        fault = f"takes it over {max_bytes} bytes" if total > max_bytes else member.fault
        if fault:
            raise RunError(f"{archive.name} is refused: its member {member.name!r} {fault}")
        judged.append(member)
    return judged


def _write(member: Member, target: Path) -> None:
    source = member.open()
    if source is None:
        raise RunError(f"{member.name} must be a file, and is a folder")
    with source, target.open("xb") as out:
        shutil.copyfileobj(source, out, 2**20)


@contextmanager
def _opened(archive: Path) -> Iterator[Iterator[Member]]:
    """Give the members; they can be opened while the context lasts."""
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as packed:
            yield (_zip_member(packed, info) for info in packed.infolist())
    else:
        with tarfile.open(archive) as packed_tar:
            yield _tar_members(packed_tar)


def _zip_member(packed: zipfile.ZipFile, info: zipfile.ZipInfo) -> Member:
    # The upper half holds the Unix mode; archives made elsewhere leave it 0.
    kind = stat.S_IFMT(info.external_attr >> 16)
    plain = kind in (0, stat.S_IFREG, stat.S_IFDIR)
    opened = None if info.is_dir() else partial(packed.open, info)
    return Member(info.filename, info.file_size, plain, opened or (lambda: None))


def _tar_members(packed: tarfile.TarFile) -> Iterator[Member]:
    for info in packed:
        plain = info.isfile() or info.isdir()
        yield Member(info.name, info.size, plain, partial(packed.extractfile, info))
    # The checksum of gzip stands after the padding, and is compared only by who reads that far.
    if len(packed.fileobj.read(PADDING)) == PADDING:
        raise ValueError("it goes on after its end")
