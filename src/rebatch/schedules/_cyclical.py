"""Cyclical batch sizes (Mu, Yao, Gholami, Keutzer and Mahoney, 2018).

A cycle is a short staircase of batch sizes.  Training walks up the staircase, which anneals the
noise of SGD, and drops back to its first stair, which injects the noise again.
"""

from dataclasses import KW_ONLY, dataclass

from rebatch.errors import LARGEST, InputError, positive_int
from rebatch.schedules._schedule import Schedule, Stair


@dataclass(frozen=True, repr=False)
class cyclical(Schedule):
    """Climb from ``base`` by ``growth`` every ``width`` epochs, then start over.

    With ``s = (epoch // width) % steps`` the batch size is ``base * growth**s``: the paper's
    CBS-``width``-``steps``; ``growth=4`` is its "-A" form.

    >>> schedule = cyclical(10, width=5, steps=3)
    >>> [schedule(epoch) for epoch in (0, 5, 10, 15)]
    [10, 20, 40, 10]
    >>> str(schedule)
    'CBS-5-3'
    """

    base: int
    _: KW_ONLY
    width: int
    steps: int = 4
    growth: int = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_cycle(self.base, self.width, self.steps, self.growth)

    def stair(self, position: float) -> Stair:
        """Return the stair of the cycle that ``position`` is on."""
        index = int(position // self.width)
        cycle, step = divmod(index, self.steps)
        size = self.base * self.growth**step
        return Stair(size, (index + 1) * self.width, cycle, step, step == self.steps - 1)

    def __str__(self) -> str:
        suffix = {2: "", 4: "-A"}.get(self.growth)
        return repr(self) if suffix is None else code(self.width, self.steps, suffix)


@dataclass(frozen=True, repr=False)
class triangular(Schedule):
    """Climb ``steps`` stairs from ``base``, then walk down ``steps - 2`` of them: "CBS-k-n-T".

    A cycle has ``2 * steps - 2`` stairs, so neither its top nor its base is repeated.

    >>> schedule = triangular(10, width=1)
    >>> [schedule(epoch) for epoch in range(7)]
    [10, 20, 40, 80, 40, 20, 10]
    """

    base: int
    _: KW_ONLY
    width: int
    steps: int = 4

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_cycle(self.base, self.width, self.steps, growth=2)

    def stair(self, position: float) -> Stair:
        """Return the stair of the rise and fall that ``position`` is on."""
        index = int(position // self.width)
        period = 2 * self.steps - 2
        cycle, step = divmod(index, period)
        size = self.base * 2 ** min(step, period - step)
        return Stair(size, (index + 1) * self.width, cycle, step, step == period - 1)

    def __str__(self) -> str:
        return code(self.width, self.steps, "-T")


def code(width: int, steps: int, suffix: str) -> str:
    """Return the paper's code of a cycle; its number of steps is left out when it is 4."""
    return f"CBS-{width}{'' if steps == 4 else f'-{steps}'}{suffix}"


def _check_cycle(base: int, width: int, steps: int, growth: int) -> None:
    positive_int("base", base)
    positive_int("width", width)
    positive_int("steps", steps, at_least=2)
    positive_int("growth", growth, at_least=2)
    if steps > 54 or base * growth ** (steps - 1) > LARGEST:
        raise InputError(f"steps must keep every batch size at 2**53 or below, got {steps}")
