"""Batches of changing size in a loop written with Lightning Fabric."""

from collections.abc import Iterator, Sized
from typing import Any

from torch.utils.data import DataLoader, Sampler

from rebatch.data import PlannedBatchSampler

try:
    from lightning.fabric import Fabric
except ImportError as error:
    raise ImportError("lightning is missing: pip install 'rebatch[lightning]'") from error


def fabric_loader(
    fabric: Fabric, dataset: Sized, sampler: PlannedBatchSampler, **options: Any
) -> Any:
    """Return a loader that gives what ``sampler`` plans, on the device of ``fabric``.

    Make the sampler with ``rank=fabric.global_rank, world_size=fabric.world_size`` and walk the
    loader with ``rebatch.data.pieces``.  ``options`` are those of torch's ``DataLoader``.
    """
    sampler.check(dataset)
    loader = DataLoader(dataset, batch_sampler=_Lists(sampler), **options)  # type: ignore[arg-type,var-annotated]
    return fabric.setup_dataloaders(loader, use_distributed_sampler=False)


class _Lists(Sampler[list[Any]]):
    """The sampler without its ``set_epoch``.

    Fabric sets the epoch to the number of times it has iterated, which after a resume is 0.
    """

    def __init__(self, planned: PlannedBatchSampler) -> None:
        self._planned = planned

    def __len__(self) -> int:
        return len(self._planned)

    def __iter__(self) -> Iterator[list[Any]]:
        return iter(self._planned)
