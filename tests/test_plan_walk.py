"""A slow walk, update by update, beside the closed form of the plan."""

from typing import Any, NamedTuple

from hypothesis import assume, given
from hypothesis import strategies as st

from rebatch import InputError, Schedule, plan
from rebatch._amount import Tokens


class Update(NamedTuple):
    """What the slow walk sees of one update."""

    epoch: int
    batch_size: int
    sample: int


class Walk:
    """Makes the updates one by one: reads the size at each, and cuts the data by hand."""

    def __init__(self, schedule: Schedule, amount: Any, length: tuple[str, int], per: int) -> None:
        self.schedule, self.amount, self.length, self.per = schedule, amount, length, per
        self.epoch = self.offset = self.sample = 0
        self.made: list[Update] = []
        self.key: tuple[int, int, int] | None = None
        self.start = self.done = 0

    def show(self, clock: str) -> int:
        if clock in ("epochs", "updates"):
            return self.epoch if clock == "epochs" else len(self.made)
        return self.sample * (self.per if clock == "tokens" else 1)

    def next_epoch(self) -> None:
        self.epoch, self.offset, self.start, self.done = self.epoch + 1, 0, 0, 0

    def run(self) -> list[Update]:
        while self.show(self.length[0]) < self.length[1]:
            stair = self.schedule.stair(self.show(self.schedule.clock))
            key = (stair.batch_size, stair.cycle, stair.step)
            if key != self.key:
                self.key, self.start, self.done = key, self.offset, 0
            taken = self.take(stair.batch_size)
            if taken:
                self.made.append(Update(self.epoch, stair.batch_size, self.sample))
                self.sample += taken
            if not taken or not self.more(stair.batch_size):
                self.next_epoch()
        return self.made

    def rows(self, size: int) -> int:
        """Rows of a token stream that this stretch has not read yet, the first one aside."""
        return (self.amount.count - self.start) // size - 1 - self.done * self.amount.bptt

    def more(self, size: int) -> bool:
        if isinstance(self.amount, Tokens):
            return self.rows(size) > 0
        left = self.amount.count - self.offset
        return left >= size if self.amount.drop_last else left > 0

    def take(self, size: int) -> int:
        if not self.more(size):
            return 0
        if isinstance(self.amount, Tokens):
            rows = min(self.amount.bptt, self.rows(size))
            self.done += 1
            self.offset = self.start + (self.done * self.amount.bptt + 1) * size
            return rows * size
        taken = min(size, self.amount.count - self.offset)
        self.offset += taken
        return taken


@given(data=st.data())
def test_the_closed_form_agrees_with_a_walk_update_by_update(plan_arguments, data):
    arguments = data.draw(plan_arguments)
    try:
        made = plan(**arguments)
    except InputError:
        assume(False)
    length = next((n, arguments[n]) for n in ("epochs", "updates", "samples") if n in arguments)
    if "examples" not in arguments and "tokens" not in arguments and length[0] == "samples":
        length = ("epochs", 1)
    schedule = arguments["schedule"]
    walk = Walk(schedule, made.amount, length, arguments.get("tokens_per_example", 1))
    seen = walk.run()
    assert len(seen) == made.updates
    assert walk.sample == made.samples
    for number, update in enumerate(seen):
        assert made.batch_size_at(number) == update.batch_size
        assert made.sample_at(number) == update.sample
        assert made.epoch_at(number)[0] == update.epoch
