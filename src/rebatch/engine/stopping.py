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


class BrokenOff(BaseException):
    """A stretch of work that changes nothing ends at once, because a stop was asked for."""


@dataclass
class StopRequest:
    """Set by a signal, looked at after every update."""

    signal: Signals | None = None
    _breaks: bool = False

    def ask(self, number: int, frame: object = None) -> None:
        """Take the signal; what may be broken off is."""
        self.signal = Signals(number)
        if self._breaks:
            self._breaks = False
            raise BrokenOff

    @contextmanager
    def may_break(self) -> Iterator[None]:
        """Mark work that a request ends at once with `BrokenOff`, as does one already made."""
        if self.signal:
            raise BrokenOff
        self._breaks = True
        try:
            yield
        finally:
            self._breaks = False


@contextmanager
def stop_requests() -> Iterator[StopRequest]:
    """Turn SIGTERM and SIGINT into a request, where this thread may receive signals."""
    stop = StopRequest()
    kept = {}
    try:
        for number in (signal.SIGTERM, signal.SIGINT):
            kept[number] = signal.signal(number, stop.ask)
    except ValueError:  # not the main thread: whoever runs it decides
        pass
    try:
        yield stop
    finally:
        for number, handler in kept.items():
            signal.signal(number, handler)
