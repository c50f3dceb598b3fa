"""Runs of a policy without a model: what is measured in a row comes from a function."""

import math

import pytest

from rebatch.policies import Outlook, Seen


def run(policy, epochs, measure, *, examples=50_000):
    """Let a policy decide a whole run; ``measure(decision, epoch)`` tells what its rows give."""
    seen, done, cycle, step = [], 0, 0, 0

    def outlook():
        return Outlook(epochs, done, lambda size: math.ceil(examples / size), examples)

    decisions = [policy.first(outlook())]
    while True:
        size, length = decisions[-1].batch_size, min(decisions[-1].epochs, epochs - done)
        updates = length * math.ceil(examples / size)
        measured = measure(decisions[-1], done + length - 1)
        seen.append(Seen(size, done, length, updates, cycle, step, **measured))
        done += length
        if done == epochs:
            return seen, decisions
        decisions.append(policy.next(seen, outlook()))
        ended = decisions[-1].ends_cycle
        cycle, step = cycle + ended, 0 if ended else step + 1


def sizes_and_epochs(seen):
    """The sizes of a run and the epochs that each lasted, cycle by cycle."""
    found = []
    for row in seen:
        if not found or found[-1][:2] != [row.cycle, row.batch_size]:
            found.append([row.cycle, row.batch_size, 0])
        found[-1][2] += row.epochs
    return [(size, epochs) for _, size, epochs in found]


@pytest.fixture(scope="session")
def follow():
    return run


@pytest.fixture(scope="session")
def stairs():
    return sizes_and_epochs
