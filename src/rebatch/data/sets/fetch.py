"""Get a data set from its official address: download, verify, unpack, put in place."""

import tempfile
from pathlib import Path

from rebatch.data.sets.archive import unpack
from rebatch.data.sets.dataset import DataSet, Source
from rebatch.data.sets.download import download
from rebatch.data.sets.record import FOLDER, Record, read_record, record_path, sha256, write_record
from rebatch.errors import InputError, RunError


def get(
    data_set: DataSet, root: Path, *, base_url: str | None = None, progress: bool = False
) -> str:
    """Get a data set; say what was done, and how sure it is that it is the right one.

    Files that are there already are never overwritten. ``base_url`` takes the place of all but
    the last part of the official address, for a mirror.
    """
    if data_set.layout(root):
        return f"{data_set.name} is already in {data_set.where(root)}"
    if (source := data_set.source) is None:
        raise InputError(f"data set must be an open one, got {data_set.name}; {data_set.advice}")
    url = f"{base_url.rstrip('/')}/{source.archive}" if base_url else source.url
    archive = root / FOLDER / source.archive
    try:
        archive.parent.mkdir(parents=True, exist_ok=True)
        known = source.checksum or _recorded(root, data_set.name)
        download(url, archive, checksum=known, progress=progress)
        record = _install(data_set, source, url, archive, root)
        archive.unlink()
    except OSError as error:
        raise RunError(f"{data_set.name} could not be put into {root}: {error}") from error
    sureness = _sureness(source, record, record_path(root, data_set.name))
    return f"{data_set.name} is in {data_set.where(root)}; {sureness}"


def _recorded(root: Path, name: str) -> str | None:
    record = read_record(root, name)
    return f"sha256:{record.sha256}" if record else None


def _install(data_set: DataSet, source: Source, url: str, archive: Path, root: Path) -> Record:
    """Unpack beside the target, then rename: nobody sees half a data set."""
    files = data_set.layouts[0].files
    with tempfile.TemporaryDirectory(dir=archive.parent) as scratch:
        new = Path(scratch) / "new"
        new.mkdir()
        try:
            unpack(archive, source.inside, files, new, source.max_bytes)
        except RunError:
            archive.unlink()  # a bad archive must not be found again the next time
            raise
        record = Record(url, sha256(archive), {name: sha256(new / name) for name in files})
        write_record(root, data_set.name, record)
        _place(new, root / data_set.folder)
    return record


def _place(new: Path, folder: Path) -> None:
    if not folder.exists():
        new.rename(folder)
        return
    for file in new.iterdir():
        if not (folder / file.name).exists():
            file.rename(folder / file.name)


def _sureness(source: Source, record: Record, path: Path) -> str:
    if source.checksum:
        return f"its checksum is the one its authors publish, {source.checksum}"
    return (
        "its authors publish no checksum, so that of this download is recorded "
        f"and compared from now on: sha256:{record.sha256} in {path}"
    )
