"""Dropout with a checked probability."""

from torch import nn

from rebatch.errors import InputError


def dropout(probability: float) -> nn.Dropout:
    """Give the layer that zeroes each value with ``probability``.

    >>> dropout(0.5)
    Dropout(p=0.5, inplace=False)
    """
    if not 0 <= probability < 1:
        raise InputError(f"dropout must be at least 0 and below 1, got {probability}")
    return nn.Dropout(probability)
