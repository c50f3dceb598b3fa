"""The loop of a sweep: start what there is room for, see what ended, stop when asked."""

import signal
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from rebatch.errors import RunError
from rebatch.sweeps._identity import Identity
from rebatch.sweeps._process import Outcome, Worker

RETRY = 3.0
"""Seconds before a folder that another process works in is tried again."""
PAUSE = 0.1

Launch = Callable[[Identity], Worker | None]
"""Starts a run, or returns nothing while there is no room for one more."""


class Stopped(RunError):
    """The sweep was asked to stop; its runs have written their checkpoints."""

    def __init__(self, number: int) -> None:
        name = signal.Signals(number).name
        super().__init__(f"stopped by {name}: the same command goes on where it was")
        self.code = 128 + number


@dataclass
class State:
    """What the sweep knows beyond the runs' own records."""

    waiting: deque[Identity]
    running: dict[Identity, Worker] = field(default_factory=dict)
    ended: dict[Identity, Outcome] = field(default_factory=dict)
    in_use: dict[Identity, float] = field(default_factory=dict)
    """Runs that another process was at work in, and when to look again."""

    @property
    def failed(self) -> list[Identity]:
        """Runs that ended with an error."""
        return [run for run, end in self.ended.items() if end.code and not end.stopped]


@dataclass
class Signals:
    """Signals that came in."""

    numbers: list[int] = field(default_factory=list)


@contextmanager
def signals() -> Iterator[Signals]:
    """Note Ctrl-C and SIGTERM instead of dying of them."""
    came = Signals()
    kept = {}
    with suppress(ValueError):  # not the main thread: whoever runs it decides
        for number in (signal.SIGINT, signal.SIGTERM):
            kept[number] = signal.signal(number, lambda number, _: came.numbers.append(number))
    try:
        yield came
    finally:
        for number, handler in kept.items():
            signal.signal(number, handler)


def run_all(
    todo: Sequence[Identity],
    launch: Launch,
    is_finished: Callable[[Identity], bool],
    show: Callable[[State], None],
) -> State:
    """Run everything that is not finished; one run that fails does not stop the others.

    The first signal asks the runs to write their checkpoints and waits for them, a second one
    ends them at once.  Either way no run is left behind when this returns or raises.
    """
    state = State(deque(run for run in todo if not is_finished(run)))
    asked = 0
    with signals() as came:
        try:
            while state.running or (state.waiting and not came.numbers):
                if not came.numbers:
                    _start(state, launch, is_finished)
                elif len(came.numbers) > asked:
                    _pass_on(state, hard=asked > 0)
                    asked = len(came.numbers)
                _collect(state)
                show(state)
                time.sleep(PAUSE)
        finally:
            _pass_on(state, hard=True)
            _collect(state)
        if came.numbers:
            raise Stopped(came.numbers[0])
    return state


def _start(state: State, launch: Launch, is_finished: Callable[[Identity], bool]) -> None:
    """Start the next runs until there is no room, or nothing that may start yet."""
    for _ in range(len(state.waiting)):
        run = state.waiting.popleft()
        if state.in_use.get(run, 0.0) > time.monotonic():
            state.waiting.append(run)
        elif is_finished(run):
            state.ended[run] = Outcome(0)  # by the other process
        else:
            worker = launch(run)
            if worker is None:
                state.waiting.appendleft(run)
                return
            state.running[run] = worker


def _collect(state: State) -> None:
    for run, worker in list(state.running.items()):
        outcome = worker.poll()
        if outcome is None:
            continue
        del state.running[run]
        if outcome.in_use:
            state.in_use[run] = time.monotonic() + RETRY
            state.waiting.append(run)
        else:
            state.in_use.pop(run, None)
            state.ended[run] = outcome


def _pass_on(state: State, *, hard: bool) -> None:
    for worker in state.running.values():
        if hard:
            worker.kill()
        else:
            worker.stop()
