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

    Numpy promises that what a ``RandomState`` gives never changes; neither numpy nor torch
    promises that of anything else that shuffles, and a saved position has to outlive a release.

    >>> epoch_order(5, seed=0, epoch=3).tolist()
    [3, 1, 2, 4, 0]
    """
    state = np.random.RandomState(_words(seed, epoch, "order"))
    return torch.from_numpy(state.permutation(count))


def epoch_generator(seed: int, epoch: int, purpose: str) -> torch.Generator:
    """Return a generator of its own for each seed, epoch and purpose.

    The three are hashed, because torch's generator on the CPU keeps only 32 bits of its seed and
    neighbouring sums such as seed + epoch would give the same order twice.
    """
    first, second = _words(seed, epoch, purpose)
    return torch.Generator().manual_seed(first << 32 | second)


def drawn(sampler: Iterable[Any], count: int, seed: int, epoch: int) -> NDArray[Any]:
    """Return what a user's own sampler draws in an epoch: the same on every rank and resume.

    Its ``set_epoch`` is called where it has one, and torch's randomness, its own ``generator``
    included, is seeded by (seed, epoch).  Randomness from elsewhere is the user's to seed.
    """
    if callable(set_epoch := getattr(sampler, "set_epoch", None)):
        set_epoch(epoch)
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


def _words(seed: int, epoch: int, purpose: str) -> list[int]:
    digest = hashlib.blake2b(f"{purpose}/{seed}/{epoch}".encode(), digest_size=8).digest()
    return [int.from_bytes(digest[:4], "big"), int.from_bytes(digest[4:], "big")]
