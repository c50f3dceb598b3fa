"""Where else a run's records can go."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rebatch.errors import InputError

Record = dict[str, Any]


@contextmanager
def tensorboard(out: Path) -> Iterator[Callable[[Record], None]]:
    """Write every figure of every record as TensorBoard events below the run's folder."""
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise InputError("tensorboard must be installed: pip install tensorboard") from None
    writer = SummaryWriter(str(out / "tensorboard"))  # type: ignore[no-untyped-call]

    def write(record: Record) -> None:
        for name, value in _figures(record):
            writer.add_scalar(name, value, record["update"])  # type: ignore[no-untyped-call]
        writer.flush()  # type: ignore[no-untyped-call]

    try:
        yield write
    finally:
        writer.close()  # type: ignore[no-untyped-call]


@contextmanager
def wandb(project: str, label: str) -> Iterator[Callable[[Record], None]]:
    """Log every figure of every record to Weights & Biases."""
    try:
        import wandb as library
    except ImportError:
        raise InputError("wandb must be installed: pip install 'rebatch[wandb]'") from None
    run = library.init(project=project, name=label)
    try:
        yield lambda record: run.log(dict(_figures(record)), step=record["update"])
    finally:
        run.finish()


def _figures(record: Record) -> Iterator[tuple[str, float]]:
    for name, value in record.items():
        if isinstance(value, int | float) and not isinstance(value, bool) and name != "update":
            yield name, value
