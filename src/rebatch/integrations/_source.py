"""A stream as what a plan cuts: read sample by sample, in workers if they are asked for."""

from typing import Any

import torch
from torch.utils.data import DataLoader, IterableDataset

from rebatch.errors import InputError


def source(stream: IterableDataset[Any], **options: Any) -> DataLoader[Any]:
    """Return a loader of single samples; ``options`` are those of torch's ``DataLoader``."""
    if "batch_size" in options:
        raise InputError(f"batch_size must be left to the plan, got {options['batch_size']}")
    options.setdefault("generator", torch.Generator())
    return DataLoader(stream, batch_size=None, collate_fn=_as_it_is, **options)


def _as_it_is(sample: Any) -> Any:
    return sample
