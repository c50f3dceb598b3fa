"""The noise scale of SGD, g = ε(N/B − 1) ≈ εN/B, and its inverse.

``ε`` is the learning rate, ``N`` the number of training samples and ``B`` the batch size; with
momentum m the rate counts as ε/(1 − m) (Smith and Le, 2018).
"""

from rebatch.errors import InputError, positive_number


def noise_scale(
    rate: float, batch_size: float, examples: float, *, momentum: float = 0.0, exact: bool = False
) -> float:
    """Return the noise scale; ``exact`` keeps the −1 that vanishes for N ≫ B.

    >>> noise_scale(0.1, 128, 50_000)
    39.0625
    >>> noise_scale(0.5, 10, 100, momentum=0.5, exact=True)
    9.0
    """
    effective = _effective(rate, momentum)
    positive_number("batch_size", batch_size)
    positive_number("examples", examples)
    return effective * (examples / batch_size - (1 if exact else 0))


def batch_size_for(
    noise: float, rate: float, examples: float, *, momentum: float = 0.0, exact: bool = False
) -> float:
    """Return the batch size at which the noise scale is ``noise``: B = N / (g/ε [+ 1]).

    >>> batch_size_for(39.0625, 0.1, 50_000)
    128.0
    """
    effective = _effective(rate, momentum)
    positive_number("noise", noise, zero=exact)
    positive_number("examples", examples)
    return examples / (noise / effective + (1 if exact else 0))


def rate_for(
    noise: float, batch_size: float, examples: float, *, momentum: float = 0.0, exact: bool = False
) -> float:
    """Return the learning rate at which the noise scale is ``noise``.

    >>> rate_for(39.0625, 128, 50_000)
    0.1
    """
    positive_number("noise", noise, zero=True)
    per_rate = noise_scale(1.0, batch_size, examples, momentum=momentum, exact=exact)
    if per_rate <= 0:
        raise InputError(f"batch_size must be below the {examples} examples, got {batch_size}")
    return noise / per_rate


def _effective(rate: float, momentum: float) -> float:
    positive_number("rate", rate)
    if not 0 <= momentum < 1:
        raise InputError(f"momentum must be at least 0 and below 1, got {momentum}")
    return rate / (1 - momentum)
