"""Verify a data set on disk: presence, counts, recorded checksums."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from rebatch.data.sets.dataset import DataSet
from rebatch.data.sets.record import read_record, sha256
from rebatch.errors import InputError, RunError


@dataclass(frozen=True)
class Verdict:
    """What is wrong, a line each, and what was counted and compared."""

    problems: tuple[str, ...]
    counts: Mapping[str, int]
    compared: int

    def __str__(self) -> str:
        counted = ", ".join(f"{what} {count:,}" for what, count in self.counts.items())
        return f"{counted}; {self.compared or 'no'} recorded checksums compared"


def check(data_set: DataSet, root: Path) -> Verdict:
    """Read a data set whole and compare it with what is known of it."""
    layout = data_set.layout(root)
    folder = data_set.at(root)
    if layout is None:
        lacking = ", ".join(data_set.missing(root))
        return Verdict((f"{lacking} must be in {folder.path}, got none; {folder.advice}",), {}, 0)
    try:
        counts = data_set.read(folder).counts
        record = read_record(root, data_set.name)
        recorded = record.files if record else {}
        problems = miscounts(layout.counts, counts) + _differences(folder.path, recorded)
    except (InputError, RunError, OSError) as error:
        return Verdict((str(error),), {}, 0)
    return Verdict(tuple(problems), counts, len(recorded))


def miscounts(known: Mapping[str, int], counts: Mapping[str, int]) -> list[str]:
    """Say of everything that was counted where it is not as many as there must be."""
    return [
        f"{what} must be {wanted:,}, got {counts[what]:,}"
        for what, wanted in known.items()
        if counts.get(what, wanted) != wanted
    ]


def _differences(folder: Path, recorded: Mapping[str, str]) -> list[str]:
    return [
        f"{folder / name} must be the file downloaded, got one of another sha256"
        for name, wanted in recorded.items()
        if not (folder / name).exists() or sha256(folder / name) != wanted
    ]
