"""A sweep: many runs below one folder, on this machine or on a cluster."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from rich.console import Console

from rebatch.errors import RunError
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

    Raises RunError once all the others are done if some failed.
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
    _demand_success(state)
    return state


def _finished(look: Look) -> Callable[[Identity], bool]:
    return lambda run: look(run).status == FINISHED


def _demand_success(state: State) -> None:
    """Complain of every run that did not finish, those that somebody else stopped included."""
    left = [(run, end) for run, end in state.ended.items() if end.code]
    if left:
        names = "; ".join(f"{run.label}: {end.error}" for run, end in left[:3])
        more = f"; and {len(left) - 3} more" if len(left) > 3 else ""
        count = "1 run" if len(left) == 1 else f"{len(left)} runs"
        raise RunError(f"{count} failed: {names}{more}")
