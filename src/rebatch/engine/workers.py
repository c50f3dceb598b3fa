"""Data workers that fail, in one line."""

import signal
from contextlib import suppress

from rebatch.errors import RunError

_WORD = "DataLoader worker"


def worker_fault(error: BaseException) -> RunError | None:
    """Return what to say of an error that comes from a data worker, which died or raised.

    A dead worker is told by a signal, so that its error can come up in any line of the loop, and
    what a worker raised carries its whole traceback.  The signal is not listened to any longer:
    it would interrupt the clearing up.
    """
    lines = str(error).strip().splitlines()
    if not isinstance(error, Exception) or not any(_WORD in line for line in lines):
        return None
    with suppress(ValueError):  # not the main thread
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    reason = lines[-1].strip().removeprefix("rebatch.errors.RunError: ")
    return RunError(f"a data worker failed: {reason}")
