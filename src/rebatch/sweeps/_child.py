"""A run in a process of its own that never outlives whoever started it.

    python -m rebatch.sweeps._child FD train RECIPE …

FD is the reading end of a pipe whose writing end only the parent has.  However the parent ends,
the pipe closes, and the run is over at once: no orphan goes on writing into a run's folder.
"""

import os
import runpy
import signal
import sys
import threading


def end_with(pipe: int) -> None:
    """Wait for the pipe to close, then kill this process."""
    while os.read(pipe, 1):
        pass
    os.kill(os.getpid(), signal.SIGKILL)


def main() -> None:
    """Guard the process, then be ``python -m rebatch``."""
    pipe = int(sys.argv.pop(1))
    os.set_inheritable(pipe, False)
    threading.Thread(target=end_with, args=(pipe,), daemon=True).start()
    runpy.run_module("rebatch", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
