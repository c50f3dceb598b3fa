"""Where else a run's records can go."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from rebatch.errors import InputError, RunError

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
def wandb(project: str, label: str) -> Iterator[Callable[[Record], None]]:
    """Log every figure of every record to Weights & Biases."""
    library = _library("wandb", "pip install 'rebatch[wandb]'")
    try:
        run = library.init(project=project, name=label)
    except Exception as error:  # not signed in, no network: wandb has errors of its own
        raise RunError(f"wandb could not be started: {error}") from error
    try:
        yield lambda record: run.log(dict(_figures(record)), step=record["update"])
    finally:
        run.finish()


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
