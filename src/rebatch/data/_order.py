"""The order of an epoch's samples: a function of (seed, epoch) alone."""

import hashlib

import torch
from torch import Tensor


def epoch_order(count: int, seed: int, epoch: int) -> Tensor:
    """Return the shuffled indices of an epoch, the same on every rank and machine.

    >>> epoch_order(5, seed=0, epoch=3).tolist() == epoch_order(5, seed=0, epoch=3).tolist()
    True
    """
    return torch.randperm(count, generator=epoch_generator(seed, epoch, "order"))


def epoch_generator(seed: int, epoch: int, purpose: str) -> torch.Generator:
    """Return a generator of its own for each seed, epoch and purpose.

    The three are hashed, because torch's generator on the CPU keeps only 32 bits of its seed and
    neighbouring sums such as seed + epoch would give the same order twice.
    """
    digest = hashlib.blake2b(f"{purpose}/{seed}/{epoch}".encode(), digest_size=8).digest()
    return torch.Generator().manual_seed(int.from_bytes(digest, "big"))
