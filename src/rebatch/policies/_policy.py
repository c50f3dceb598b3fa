"""What a policy is: a frozen value that decides the next row from the rows that were seen.

A schedule knows every size before training starts; a policy looks at what was measured.  It has
no counter and no state either: the same rows give the same decision, so a resume does not
decide again, all ranks agree, and no torch is needed to try one.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar, NamedTuple

from rebatch._call import Value
from rebatch.errors import InputError, hold_plain, positive_int


class Seen(NamedTuple):
    """A finished row and what was measured in it."""

    batch_size: int
    first_epoch: float
    epochs: float
    updates: int
    cycle: int
    step: int
    train_loss: float
    """Mean over the row's samples."""
    noise_scale: float | None = None
    """tr(Σ)/|G|² of the row, in units of the batch size; none where it could not be measured."""
    eigenvalue: float | None = None
    """The top Hessian eigenvalue at the row's end, where the policy asks for it."""
    validation: float | None = None
    """The selecting figure at the row's end, of validation data and never of test data, put so
    that lower is better: a perplexity, or the error in per cent where accuracy selects."""


class Outlook(NamedTuple):
    """What lies ahead."""

    epochs: int
    """The whole budget."""
    done: float
    """Epochs behind."""
    updates_of: Callable[[int], int]
    """Updates in a whole epoch at a batch size."""
    largest: int
    """The largest batch size that still gives an update."""

    @property
    def left(self) -> int:
        """Epochs that remain of the budget; one that has begun counts whole."""
        return self.epochs - int(self.done)


class Decision(NamedTuple):
    """The next row, and why it is so."""

    batch_size: int
    reason: str
    """One line for people."""
    epochs: int = 1
    """Length of the next row; the engine cuts it at the end of the budget."""
    ends_cycle: bool = False
    """Whether the row just finished ends its cycle: the next one starts a new cycle."""
    rate_factor: float = 1.0
    """Learning rate of the next row, as a multiple of what the recipe's rule gives."""
    gauges: Mapping[str, float] = {}
    """The figures it was decided on, by name."""


@dataclass(frozen=True, repr=False)
class Policy(Value):
    """Decides, row by row, the batch size of a run of a given number of epochs."""

    base: int
    _: KW_ONLY
    largest: int | None = None
    measure_every: int = 40
    """Every how many updates the engine measures the gradient noise."""

    needs_noise: ClassVar[bool] = False
    """Whether it reads `Seen.noise_scale`."""

    def __post_init__(self) -> None:
        hold_plain(self)
        positive_int("base", self.base)
        positive_int("measure_every", self.measure_every)
        if self.largest is not None and positive_int("largest", self.largest) < self.base:
            raise InputError(
                f"largest must be at least base, which is {self.base}, got {self.largest}"
            )

    def first(self, outlook: Outlook) -> Decision:
        """Return the first row: an epoch at the base."""
        return Decision(min(self.base, self.limit(outlook)), "training starts at the base")

    def next(self, seen: Sequence[Seen], outlook: Outlook) -> Decision:
        """Return the row that follows the rows seen, of which there is at least one."""
        raise NotImplementedError

    @property
    def needs_validation(self) -> bool:
        """Whether it cannot do without `Seen.validation`."""
        return False

    def wants_eigenvalue(self, batch_size: int, outlook: Outlook) -> bool:
        """Tell whether it reads `Seen.eigenvalue` of a row of this size."""
        return False

    def completes(self, seen: Sequence[Seen], outlook: Outlook) -> bool:
        """Tell whether the last row ends a cycle, asked once the budget is spent."""
        return False

    def limit(self, outlook: Outlook) -> int:
        """Return the largest size that both the policy and the data allow."""
        return min(self.largest or outlook.largest, outlook.largest)

    def __str__(self) -> str:
        """Return the notation, which leaves the base out: AUTO, or GNS(share=0.5)."""
        name, _, arguments = repr(self).partition("(")
        _, _, options = arguments.removesuffix(")").partition(", ")
        return f"{name.upper()}({options})" if options else name.upper()
