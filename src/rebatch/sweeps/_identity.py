"""Which run: what makes two runs the same one, and the folder that is named after it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from pathlib import PurePosixPath
from typing import Any

from rebatch import Plan
from rebatch.errors import positive_int
from rebatch.recipes import Case, case, find, override
from rebatch.records import folder_name


@dataclass(frozen=True)
class Identity:
    """A run by its recipe, schedule, variant, changed fields and seed.

    >>> Identity("l1-ptb", "CBS-10", 1, "equal-noise", ("epochs=3",)).folder
    PurePosixPath('l1-ptb/CBS-10--equal-noise--epochs-3/seed1')
    """

    recipe: str
    schedule: str
    seed: int
    variant: str | None = None
    overrides: tuple[str, ...] = ()

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> "Identity":
        """Read it from ``run.json`` or ``result.json``."""
        names = ("recipe", "schedule", "seed", "variant")
        named = {name: record[name] for name in names}
        return cls(**named, overrides=tuple(record["overrides"]))

    @property
    def folder(self) -> PurePosixPath:
        """Where the run lives below the folder of a sweep."""
        name = folder_name(self.schedule, self.variant, *self.overrides)
        return PurePosixPath(folder_name(self.recipe), name, folder_name(f"seed{self.seed}"))

    @property
    def label(self) -> str:
        """The run in a few words.

        >>> Identity("l1-ptb", "BL", 0, "plateau").label
        'l1-ptb BL plateau seed 0'
        """
        parts = (self.recipe, self.schedule, self.variant, *self.overrides, f"seed {self.seed}")
        return " ".join(part for part in parts if part)

    @cached_property
    def case(self) -> Case:
        """What the run does; wrong names are refused here."""
        return case(override(find(self.recipe), self.overrides), self.schedule, self.variant)

    @cached_property
    def plan(self) -> Plan:
        """The run's plan on as much data as the set officially has, estimated for a policy."""
        return self.case.expected()

    @property
    def updates(self) -> str:
        """How many updates the run takes, as people read it.

        >>> Identity("l1-ptb", "CBS-10", 0).updates, Identity("l1-ptb", "PLATEAU", 0).updates
        ('49,468', '~103,584')
        """
        return f"{'' if self.case.policy is None else '~'}{self.plan.updates:,}"


def identities(
    recipe: str,
    schedules: Iterable[str],
    seeds: Iterable[int],
    variants: Iterable[str | None] = (None,),
    overrides: Iterable[str] = (),
) -> list[Identity]:
    """Return every combination once, seed by seed, and check that each of them can be run.

    >>> [run.label for run in identities("digits", ["BL", "CBS-5"], [0])]
    ['digits BL seed 0', 'digits CBS-5 seed 0']
    """
    changes = tuple(sorted("=".join(map(str.strip, text.split("=", 1))) for text in overrides))
    made = []
    for seed, code, variant in product(seeds, schedules, variants):
        asked = Identity(recipe, code, positive_int("seed", seed, at_least=0), variant, changes)
        # The code is written as the run will write it: cbs-5 and CBS-5-4 are the same schedule.
        made.append(Identity(recipe, asked.case.code, asked.seed, variant, changes))
    return list(dict.fromkeys(made))
