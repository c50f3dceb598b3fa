"""Staircases of growing sizes, and the wave of two."""

import math
from bisect import bisect_right
from dataclasses import KW_ONLY, dataclass

from rebatch._growth import check_growth, grown
from rebatch.errors import positive_int, rising
from rebatch.schedules._schedule import Clock, Schedule, Stair


@dataclass(frozen=True, repr=False)
class milestones(Schedule):
    """Multiply the size by ``factor`` at each position of ``at``, up to ``largest``.

    This grows the batch where the learning rate would be divided (Smith, Kindermans and Le,
    2017).  Past ``largest`` the rate has to fall instead: `rebatch.rates.beyond_largest`.

    >>> schedule = milestones(128, at=(60, 120, 160), factor=5, largest=3200)
    >>> [schedule(epoch) for epoch in (0, 60, 120, 160)]
    [128, 640, 3200, 3200]
    """

    base: int
    _: KW_ONLY
    at: tuple[int, ...]
    factor: float = 2
    largest: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_growth(self.base, self.factor, self.largest)
        object.__setattr__(self, "at", rising("at", self.at))

    def stair(self, position: float) -> Stair:
        """Return the stretch between the milestones around ``position``."""
        step = bisect_right(self.at, position)
        end = self.at[step] if step < len(self.at) else math.inf
        return Stair(grown(self.base, self.factor, step, self.largest), end, step=step)


@dataclass(frozen=True, repr=False)
class steps(Schedule):
    """Multiply the size by ``factor`` every ``every`` epochs, up to ``largest``.

    >>> schedule = steps(32, every=20, factor=2, largest=100)
    >>> [schedule(epoch) for epoch in (0, 20, 40, 60)]
    [32, 64, 100, 100]
    """

    base: int
    _: KW_ONLY
    every: int
    factor: float = 2
    largest: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_growth(self.base, self.factor, self.largest)
        positive_int("every", self.every)

    def stair(self, position: float) -> Stair:
        """Return the step that ``position`` is on."""
        step = int(position // self.every)
        size = grown(self.base, self.factor, step, self.largest)
        return Stair(size, (step + 1) * self.every, step=step)


def adabatch(
    base: int,
    *,
    every: int = 20,
    factor: float = 2,
    largest: int | None = None,
    clock: Clock = "epochs",
) -> steps:
    """Double the batch every 20 epochs (AdaBatch, Devarakonda et al., 2017).

    Its learning-rate partner is `rebatch.rates.adabatch`.
    """
    return steps(base, every=every, factor=factor, largest=largest, clock=clock)


@dataclass(frozen=True, repr=False)
class square_wave(Schedule):
    """Alternate between two sizes (the discrete cycle of Jastrzębski et al., 2017).

    >>> schedule = square_wave(128, 640, width=5)
    >>> [schedule(epoch) for epoch in (0, 5, 10)]
    [128, 640, 128]
    """

    low: int
    high: int
    _: KW_ONLY
    width: int

    def __post_init__(self) -> None:
        super().__post_init__()
        positive_int("low", self.low)
        positive_int("high", self.high)
        positive_int("width", self.width)

    def stair(self, position: float) -> Stair:
        """Return the half of the wave that ``position`` is on."""
        index = int(position // self.width)
        cycle, step = divmod(index, 2)
        size = self.high if step else self.low
        return Stair(size, (index + 1) * self.width, cycle, step, ends_cycle=step == 1)
