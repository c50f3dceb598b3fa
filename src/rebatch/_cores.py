"""The processors that this process may use."""

import os


def cores() -> int:
    """Return how many there are; not every system tells which of them are this process's own."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
