"""Collated data cut and joined along its first dimension, whatever it is nested in."""

from typing import Any

import torch
from torch import Tensor

from rebatch.errors import InputError

Chunk = Any
"""Tensors, or lists of text, in tuples, lists and dictionaries: what a `DataLoader` delivers."""


def length(chunk: Chunk) -> int:
    """Return the number of samples in a chunk: the same in all its parts.

    >>> length({"image": torch.zeros(3, 8), "name": ["a", "b", "c"]})
    3
    """
    parts = _parts(chunk)
    if parts is None:
        return len(chunk)
    counts = {length(part) for part in parts}
    if len(counts) != 1:
        raise InputError(f"chunk must hold equally many samples in every part, got {counts}")
    return counts.pop()


def cut(chunk: Chunk, start: int, stop: int) -> Chunk:
    """Return the samples of a chunk from ``start`` to ``stop``; tensors as views."""
    if _parts(chunk) is None:
        return chunk[start:stop]
    return _rebuilt(chunk, [cut(part, start, stop) for part in _parts(chunk) or ()])


def joined(chunks: list[Chunk]) -> Chunk:
    """Return chunks of the same make-up as one.

    >>> joined([(torch.tensor([1, 2]), ["a", "b"]), (torch.tensor([3]), ["c"])])
    (tensor([1, 2, 3]), ['a', 'b', 'c'])
    """
    first = chunks[0]
    if len(chunks) == 1:
        return first
    if isinstance(first, Tensor):
        return torch.cat(chunks)
    if _parts(first) is None:
        return type(first)(item for chunk in chunks for item in chunk)
    columns = zip(*(_parts(chunk) or () for chunk in chunks), strict=True)
    return _rebuilt(first, [joined(list(column)) for column in columns])


def _parts(chunk: Chunk) -> list[Chunk] | None:
    """Return what a container holds, or none for a leaf."""
    if isinstance(chunk, Tensor) and chunk.dim():
        return None
    if isinstance(chunk, dict) and chunk:
        return list(chunk.values())
    if isinstance(chunk, tuple | list) and chunk:
        return None if isinstance(chunk[0], str | bytes) else list(chunk)
    raise InputError(
        f"chunk must be of tensors or text with a first dimension, got {type(chunk).__name__}"
    )


def _rebuilt(like: Chunk, parts: list[Chunk]) -> Chunk:
    if isinstance(like, dict):
        return dict(zip(like, parts, strict=True))
    return type(like)(*parts) if hasattr(like, "_fields") else type(like)(parts)
