"""The noise scale of SGD, g = ε(N/B − 1) ≈ εN/B, and its inverse.

``ε`` is the learning rate, ``N`` the number of training samples and ``B`` the batch size; with
momentum m the rate counts as ε/(1 − m) (Smith and Le, 2018).
"""

from rebatch.errors import InputError, positive_number, shown


def noise_scale(
    rate: float, batch_size: float, examples: float, *, momentum: float = 0.0, exact: bool = False
) -> float:
    """Return the noise scale; ``exact`` keeps the −1 that vanishes for N ≫ B.

    >>> noise_scale(0.1, 128, 50_000)
    39.0625
    >>> noise_scale(0.5, 10, 100, momentum=0.5, exact=True)
    9.0
    """
    rate = positive_number("rate", rate, zero=True)
    return rate / (1 - _checked(momentum)) * _batches(batch_size, examples, exact)


def batch_size_for(
    noise: float, rate: float, examples: float, *, momentum: float = 0.0, exact: bool = False
) -> float:
    """Return the batch size at which the noise scale is ``noise``: B = N / (g/ε [+ 1]).

    >>> batch_size_for(39.0625, 0.1, 50_000)
    128.0
    """
    noise = positive_number("noise", noise, zero=exact)
    examples = positive_number("examples", examples)
    effective = positive_number("rate", rate) / (1 - _checked(momentum))
    return examples / (noise / effective + exact)


def rate_for(
    noise: float, batch_size: float, examples: float, *, momentum: float = 0.0, exact: bool = False
) -> float:
    """Return the learning rate at which the noise scale is ``noise``.

    >>> rate_for(39.0625, 128, 50_000)
    0.1
    """
    noise = positive_number("noise", noise)
    batches = _batches(batch_size, examples, exact)
    if not batches:
        raise InputError(f"batch_size must be below the {examples} examples, got {batch_size}")
    return noise * (1 - _checked(momentum)) / batches


def _checked(momentum: float) -> float:
    if (momentum := positive_number("momentum", momentum, zero=True)) >= 1:
        raise InputError(f"momentum must be below 1, got {shown(momentum)}")
    return momentum


def _batches(batch_size: float, examples: float, exact: bool) -> float:
    """Return N/B, less the 1 that keeps a batch of everything without noise."""
    batches = positive_number("examples", examples) / positive_number("batch_size", batch_size)
    if exact and batches < 1:
        raise InputError(f"batch_size must be at most the {examples} examples, got {batch_size}")
    return batches - exact
