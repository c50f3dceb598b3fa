"""Accelerate at work on a batch sampler: process r of P takes list r and every P-th after it.

``accelerator.prepare`` wraps a loader's batch sampler in a ``BatchSamplerShard``, which does that.
Whole updates dealt out so would make the batch size P times what is planned, and one rank's share
dealt out again would lose most of it.  So the sampler looks who asks, and gives a shard the shares
of all ranks in turn: what each process then takes is its own.
"""

from dataclasses import dataclass
from types import FrameType
from typing import Any

from rebatch.data._cut import Share
from rebatch.errors import InputError


@dataclass(frozen=True, slots=True)
class Deal(Share):
    """The pieces of every rank in turn, for someone who deals them out."""

    def count(self, size: int, present: int | None = None) -> int:
        """Return the number of pieces of an update, over all ranks."""
        return self.world_size * Share.count(self, size, present)

    def spans(self, size: int, present: int | None = None) -> list[tuple[int, int]]:
        """Return the first piece of every rank, the second of every rank, and so on.

        >>> Deal(0, 2, micro_batch_size=2).spans(7)
        [(0, 2), (4, 6), (2, 4), (6, 7)]
        """
        ranks = (self.of_rank(rank).spans(size, present) for rank in range(self.world_size))
        return [span for turn in zip(*ranks, strict=True) for span in turn]

    def of_rank(self, rank: int) -> Share:
        """Return the share of one rank alone."""
        return Share(rank, self.world_size, self.micro_batch_size)


def dealt_by(caller: FrameType, share: Share) -> Deal | None:
    """Return what is dealt out, and as which rank it is taken, if it is Accelerate that calls."""
    shard: Any = caller.f_locals.get("self")
    if type(shard).__name__ != "BatchSamplerShard" or shard.num_processes == 1:
        return None
    if share.world_size not in (1, shard.num_processes):
        raise InputError(
            f"world_size must be the {shard.num_processes} of Accelerate, got {share.world_size}"
        )
    return Deal(shard.process_index, shard.num_processes, share.micro_batch_size)
