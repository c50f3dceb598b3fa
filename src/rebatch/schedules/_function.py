"""A schedule from any function of the position."""

import math
from collections.abc import Callable
from dataclasses import dataclass

from rebatch.errors import LARGEST, InputError, shown
from rebatch.schedules._schedule import Smooth


@dataclass(frozen=True, repr=False)
class from_function(Smooth):
    """Ask ``function`` for the size at every unit of the clock.

    The function must be pure: the plan reads it once, before training.

    >>> [from_function(lambda epoch: 10 + epoch**2)(epoch) for epoch in range(4)]
    [10, 11, 14, 19]
    """

    function: Callable[[int], float]

    def __post_init__(self) -> None:
        super().__post_init__()
        if not callable(self.function):
            raise InputError(f"function must be callable, got {shown(self.function)}")

    def value(self, position: int) -> float:
        """Return what the function says, after checking that it is a size."""
        said = self.function(position)
        try:
            value = float(said)
        except (TypeError, ValueError, OverflowError):
            value = math.nan
        if not 1 <= value <= LARGEST:
            rule = "a number from 1 to 2**53"
            raise InputError(f"function must return {rule}, got {shown(said)} at {position}")
        return value

    def __repr__(self) -> str:
        name = getattr(self.function, "__qualname__", repr(self.function))
        clock = "" if self.clock == "epochs" else f", clock={self.clock!r}"
        return f"from_function({name}{clock})"
