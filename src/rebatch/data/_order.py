"""The order of an epoch's samples: a function of (seed, epoch) alone."""

import hashlib
from collections.abc import Iterable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rebatch.errors import InputError


def epoch_order(count: int, seed: int, epoch: int) -> Tensor:
    """Return the shuffled indices of an epoch, the same on every rank and machine.

    The order is torch's ``randperm``, which is three times as fast as numpy's and is a plain
    Fisher-Yates shuffle by the numbers of MT19937: swap place i with place i + number mod (n - i).
    A saved position has to outlive releases of torch, so a test compares it with that definition.

    >>> epoch_order(5, seed=0, epoch=3).tolist()
    [3, 4, 2, 0, 1]
    """
    return torch.randperm(count, generator=epoch_generator(seed, epoch, "order"))


def epoch_generator(seed: int, epoch: int, purpose: str) -> torch.Generator:
    """Return a generator of its own for each seed, epoch and purpose.

    The three are hashed to the 32 bits that torch's generator on the CPU keeps of a seed:
    neighbouring sums such as seed + epoch would give the same order twice.
    """
    digest = hashlib.blake2b(f"{purpose}/{seed}/{epoch}".encode(), digest_size=4).digest()
    return torch.Generator().manual_seed(int.from_bytes(digest, "big"))


def tell_epoch(source: object, epoch: int) -> None:
    """Tell a data set, a sampler or a stream which epoch begins, where it has ``set_epoch``."""
    if callable(set_epoch := getattr(source, "set_epoch", None)):
        set_epoch(epoch)


def drawn(sampler: Iterable[Any], count: int, seed: int, epoch: int) -> NDArray[Any]:
    """Return what a user's own sampler draws in an epoch: the same on every rank and resume.

    Its ``set_epoch`` is called where it has one, and torch's randomness, its own ``generator``
    included, is seeded by (seed, epoch).  Randomness from elsewhere is the user's to seed.
    """
    tell_epoch(sampler, epoch)
    own_seed = epoch_generator(seed, epoch, "sampler").initial_seed()
    if isinstance(generator := getattr(sampler, "generator", None), torch.Generator):
        generator.manual_seed(own_seed)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(own_seed)
        indices = list(sampler)
    if len(indices) != count:
        raise InputError(f"sampler must draw the {count} samples planned, got {len(indices)}")
    held = np.empty(count, dtype=object)  # an index of a data set need not be a number
    held[:] = indices
    return held
