"""The baseline: one batch size for the whole of training."""

import math
from dataclasses import dataclass

from rebatch.errors import positive_int
from rebatch.schedules._schedule import Schedule, Stair


@dataclass(frozen=True, repr=False)
class constant(Schedule):
    """Keep the batch size at ``base``: the paper's baseline BL, one cycle without an end.

    >>> constant(128)(1000)
    128
    """

    base: int

    def __post_init__(self) -> None:
        super().__post_init__()
        positive_int("base", self.base)

    def stair(self, position: float) -> Stair:
        """Return the one endless stair."""
        return Stair(self.base, math.inf)

    def __str__(self) -> str:
        return "BL"
