"""Data workers that fail, in one line."""

import os
import signal
import traceback
from contextlib import suppress
from threading import Thread

from rebatch.errors import RunError

_WORDS = ("DataLoader worker", "DataLoader timed out")
_EXCHANGE = ("multiprocessing/connection.py", "multiprocessing/resource_sharer.py")


def worker_fault(error: BaseException) -> RunError | None:
    """Return what to say of an error that comes from a data worker, which died, raised or hangs.

    A dead worker is told by a signal, so that its error can come up in any line of the loop, or by
    a connection that breaks; what a worker raised carries its whole traceback.  The signal is not
    listened to any longer: it would interrupt the clearing up.
    """
    with suppress(ValueError):  # not the main thread
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    if not isinstance(error, Exception):
        return None
    if isinstance(error, OSError | EOFError) and _is_exchange(error):
        return RunError(f"a data worker failed: it is gone ({type(error).__name__})")
    lines = str(error).strip().splitlines()
    if not any(word in line for line in lines for word in _WORDS):
        return None
    reason = lines[-1].strip().removeprefix("rebatch.errors.RunError: ")
    return RunError(f"a data worker failed: {reason}")


def outlive_stop(worker: int) -> None:
    """Let a worker be ended by its run alone: the run needs it until the update is made.

    Who stops a job often signals all of its processes: timeout, Slurm, systemd.
    """
    if hasattr(signal, "sigwaitinfo"):  # macOS has none
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
        Thread(target=_end_when_told_by_the_run, daemon=True).start()


def _end_when_told_by_the_run() -> None:
    while signal.sigwaitinfo({signal.SIGTERM}).si_pid != os.getppid():
        pass
    os._exit(0)


def _is_exchange(error: Exception) -> bool:
    """Tell whether the error came up while values went from a worker to this process."""
    frames = traceback.extract_tb(error.__traceback__)
    return any(frame.filename.endswith(_EXCHANGE) for frame in frames)
