"""Stopping on request: a signal is noted, and the run ends after the update under way."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from signal import Signals

from rebatch.errors import RunError


class Stopped(RunError):
    """The run was asked to stop; its checkpoint is written."""

    def __init__(self, number: Signals, update: int) -> None:
        super().__init__(f"stopped by {number.name} after update {update}: use --resume to go on")
        self.code = 128 + number


@dataclass
class StopRequest:
    """Set by a signal, looked at after every update."""

    signal: Signals | None = None


@contextmanager
def stop_requests() -> Iterator[StopRequest]:
    """Turn SIGTERM and SIGINT into a request, where this thread may receive signals."""
    stop = StopRequest()

    def ask(number: int, frame: object) -> None:
        stop.signal = Signals(number)

    kept = {}
    try:
        for number in (signal.SIGTERM, signal.SIGINT):
            kept[number] = signal.signal(number, ask)
    except ValueError:  # not the main thread: whoever runs it decides
        pass
    try:
        yield stop
    finally:
        for number, handler in kept.items():
            signal.signal(number, handler)
