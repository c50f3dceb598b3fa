"""What a data set is: where it comes from, where it is expected, what it must hold."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from rebatch.errors import InputError


class Counted(Protocol):
    """A loaded data set, which can say how much of what it holds."""

    @property
    def counts(self) -> dict[str, int]:
        """Give the sizes that a complete data set is known by."""


@dataclass(frozen=True, kw_only=True)
class Layout:
    """The files of a data set (glob patterns in its folder) and the counts they must give."""

    files: tuple[str, ...]
    counts: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Source:
    """The official archive. ``checksum`` is given only where the authors publish one."""

    url: str
    inside: str
    max_bytes: int
    checksum: str | None = None

    @property
    def archive(self) -> str:
        """Name the archive's file: the last part of the address."""
        return self.url.rpartition("/")[2].partition("?")[0]


@dataclass(frozen=True)
class Folder:
    """A data set's folder on this machine; a missing file says what to run."""

    path: Path
    advice: str

    def has(self, pattern: str) -> bool:
        """Tell whether some file fits ``pattern``."""
        return any(self.path.glob(pattern))

    def file(self, name: str) -> Path:
        """Give the path of a file that must be there."""
        if not (self.path / name).exists():
            missing = f"{self.path.name}/{name}"
            raise InputError(
                f"data must hold {missing}, got {self.path.parent} without it; {self.advice}"
            )
        return self.path / name


@dataclass(frozen=True, kw_only=True)
class DataSet:
    """One data set: its facts, and ``read``, which turns its folder into tensors.

    The archive of ``source`` gives the first of the ``layouts``; the others are read as well.
    """

    name: str
    what: str
    folder: str
    layouts: tuple[Layout, ...]
    read: Callable[..., Counted]
    source: Source | None = None
    advice: str = ""

    def at(self, root: Path) -> Folder:
        """Give the data set's folder below ``root``."""
        advice = self.advice or f"run: rebatch data get {self.name} --data {root}"
        return Folder(root / self.folder, advice)

    def where(self, root: Path) -> str:
        """Say where the data set is expected; one without a folder ships with the package."""
        return str(root / self.folder) if self.folder else "the package"

    def begun(self, root: Path) -> bool:
        """Tell whether there is anything of it to check."""
        return not self.folder or (root / self.folder).is_dir()

    def layout(self, root: Path) -> Layout | None:
        """Give the layout whose files are all there, if any."""
        folder = self.at(root)
        complete = (layout for layout in self.layouts if all(map(folder.has, layout.files)))
        return next(complete, None)

    def missing(self, root: Path) -> list[str]:
        """List the files that are not there, of the layout that lacks the fewest."""
        folder = self.at(root)
        lacks = [[name for name in each.files if not folder.has(name)] for each in self.layouts]
        return min(lacks, key=len)

    def size(self, root: Path) -> int:
        """Add up the sizes of its files (plain files in its folder; no walk through subfolders)."""
        patterns = {name for layout in self.layouts for name in layout.files}
        found = {path for name in patterns for path in self.at(root).path.glob(name)}
        return sum(path.stat().st_size for path in found if path.is_file())


def data_root(root: str | Path | None = None) -> Path:
    """Give the folder of all data sets: ``root``, else ``$REBATCH_DATA``, else ~/.cache/rebatch."""
    chosen = root or os.environ.get("REBATCH_DATA") or "~/.cache/rebatch"
    return Path(chosen).expanduser()
