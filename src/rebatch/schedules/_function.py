"""A schedule from any function of the position."""

from collections.abc import Callable
from dataclasses import dataclass

from rebatch.errors import InputError
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
            raise InputError(f"function must be callable, got {self.function!r}")

    def value(self, position: float) -> float:
        """Return what the function says, after checking that it is a size."""
        value = self.function(int(position))
        if not 1 <= value < float("inf"):
            raise InputError(
                f"function must return a size of at least 1, got {value} at {position}"
            )
        return value

    def __repr__(self) -> str:
        name = getattr(self.function, "__qualname__", repr(self.function))
        return f"from_function({name})"
