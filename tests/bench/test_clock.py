import torch

import rebatch
from rebatch.bench.clock import EpochClock, take_turns
from rebatch.engine.images import ImageTask

CPU = torch.device("cpu")


class Steady:
    """A loop that says it takes a fixed time for an update."""

    def __init__(self, seconds: float) -> None:
        self.seconds, self.turns = seconds, []

    def turn(self, updates: int) -> float:
        self.turns.append(updates)
        return updates * self.seconds


def test_turns_are_as_long_as_asked_for_whatever_an_update_takes():
    loops = {"ours": Steady(0.01), "plain": Steady(0.04)}
    told = []
    found = take_turns(loops, seconds=2.0, rounds=3, tell=told.append)
    assert {name: [round(each) for each in speeds] for name, speeds in found.items()} == {
        "ours": [100, 100, 100],
        "plain": [25, 25, 25],
    }
    assert loops["ours"].turns[-3:] == [200, 200, 200]
    assert loops["plain"].turns[-3:] == [50, 50, 50]
    assert told[2:] == ["ours", "plain"] * 3


def test_an_update_longer_than_a_turn_is_still_made():
    loop = Steady(7.0)
    take_turns({"plain": loop}, seconds=1.0, rounds=1, tell=lambda name: None)
    assert loop.turns == [1, 1]


def test_the_clock_of_epochs_stands_between_them():
    images, labels = torch.zeros(6, 1, 2, 2, dtype=torch.uint8), torch.zeros(6, dtype=torch.long)
    plan = rebatch.plan(rebatch.constant(2), epochs=2, examples=6)
    split = (images, labels)
    task = ImageTask(split, {"test": split}, plan, seed=0, device=CPU)
    clock = EpochClock(task, CPU)
    assert len(list(task.batches(0, 0))) == 3
    assert len(list(task.batches(1, 0))) == 3
    assert len(clock.finished) == 2
    clock.restart()
    assert clock.finished == []
