"""A sweep: many runs below one folder, on this machine or on a cluster."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from rich.console import Console

from rebatch.errors import InputError, RunError
from rebatch.records import FINISHED
from rebatch.sweeps._identity import Identity
from rebatch.sweeps._local import local
from rebatch.sweeps._loop import Launch, State, run_all
from rebatch.sweeps._process import Options
from rebatch.sweeps._screen import Look, Screen
from rebatch.sweeps._standing import standing


def sweep(
    runs: Sequence[Identity],
    out: Path,
    *,
    jobs: int | None = 1,
    options: Options | None = None,
    console: Console | None = None,
) -> State:
    """Make every run that is not finished below ``out``; ``jobs`` at once, or none to choose.

    Raises RunError once all the others are done if some failed, InputError if all were refused.
    """
    backend = local(out, options or Options(), jobs)
    return sweep_on(backend, runs, lambda run: standing(run, out / run.folder), console)


def sweep_on(
    backend: AbstractContextManager[Launch],
    runs: Sequence[Identity],
    look: Look,
    console: Console | None = None,
) -> State:
    """Make the runs with whatever starts them, watching their records with ``look``."""
    screen = Screen(runs, look, console)
    try:
        with backend as launch, screen:
            state = run_all(runs, launch, _finished(look), screen.show)
            screen.refresh(state)
    finally:
        screen.conclude()
    demand_success(state, runs)
    return state


def _finished(look: Look) -> Callable[[Identity], bool]:
    return lambda run: look(run).status == FINISHED


def demand_success(state: State, runs: Sequence[Identity]) -> None:
    """Complain of every run that did not finish, those that somebody else stopped included.

    What no run at all would take is not a failure of theirs, but wrong input to the sweep.
    """
    left = {run: end for run, end in state.ended.items() if end.code}
    labels: dict[str, list[str]] = {}
    for run, end in left.items():
        labels.setdefault(end.error, []).append(run.label)
    if len(left) == len(runs) and len(labels) == 1 and {end.code for end in left.values()} == {2}:
        raise InputError(*labels)
    if left:
        named = [f"{_counted(names)}: {error}" for error, names in labels.items()]
        count = "1 run" if len(left) == 1 else f"{len(left)} runs"
        raise RunError(f"{count} failed: {'; '.join(named[:3])}{'; …' if named[3:] else ''}")


def _counted(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"
