"""Where else a run's records can go."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from rebatch.errors import InputError, RunError
from rebatch.records import read_json, write_json

Record = dict[str, Any]


@contextmanager
def tensorboard(out: Path) -> Iterator[Callable[[Record], None]]:
    """Write every figure of every record as TensorBoard events below the run's folder."""
    library = _library("torch.utils.tensorboard", "pip install tensorboard")
    writers: list[Any] = []

    def write(record: Record) -> None:
        if not writers:  # only now: a run that is resumed takes back what came after its checkpoint
            folder = str(out / "tensorboard")
            writers.append(library.SummaryWriter(folder, purge_step=record["update"]))
        for name, value in _figures(record):
            writers[0].add_scalar(name, value, record["update"])
        writers[0].flush()

    try:
        yield write
    finally:
        for writer in writers:
            writer.close()


@contextmanager
def wandb(
    project: str, label: str, out: Path, *, resume: bool = False
) -> Iterator[Callable[[Record], None]]:
    """Log every figure of every record to Weights & Biases; a run that is resumed goes on there.

    Which run that is stands in ``wandb.json`` in the run's own folder.
    """
    library = _library("wandb", "pip install 'rebatch[wandb]'")
    kept = out / "wandb.json"
    known = _known(kept, project) if resume else {}
    try:
        run = library.init(project=project, name=label, **known)
    except Exception as error:  # not signed in, no network: wandb has errors of its own
        raise RunError(f"wandb could not be started: {error}") from error
    to_keep = [{"project": project, "id": run.id}]

    def write(record: Record) -> None:
        while to_keep:  # only now: until it begins, the folder may be another run's
            write_json(kept, to_keep.pop())
        run.log(dict(_figures(record)), step=record["update"])

    try:
        yield write
    finally:
        run.finish()


def _known(kept: Path, project: str) -> dict[str, str]:
    """Return what lets the library go on with the run that it was given before."""
    found = read_json(kept) if kept.exists() else {}
    if found.get("project") != project:
        return {}
    return {"id": str(found.get("id")), "resume": "allow"}


def _library(module: str, advice: str) -> Any:
    try:
        return import_module(module)
    except ImportError:
        name = module.rpartition(".")[2]
        raise InputError(f"{name} must be installed, got none: {advice}") from None


def _figures(record: Record) -> Iterator[tuple[str, float]]:
    for name, value in record.items():
        if isinstance(value, int | float) and not isinstance(value, bool) and name != "update":
            yield name, value
