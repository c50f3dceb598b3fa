"""What holds for every schedule."""

import math
import pickle
from dataclasses import FrozenInstanceError, fields, replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rebatch
from rebatch import InputError, Schedule, parse
from rebatch.schedules import cyclical

NAMES = {name: getattr(rebatch, name) for name in vars(rebatch)}
POSITIONS = st.integers(0, 200) | st.floats(0, 200)


@given(schedule=st.from_type(Schedule), position=POSITIONS)
def test_every_size_is_a_whole_number_of_at_least_1(schedule, position):
    assert type(schedule(position)) is int
    assert schedule(position) >= 1


@given(schedule=st.from_type(Schedule), position=POSITIONS)
def test_a_stair_holds_for_every_position_up_to_its_end(schedule, position):
    stair = schedule.stair(position)
    assert stair.end > position
    assert stair.end == math.inf or stair.end == int(stair.end)
    for later in range(math.ceil(position), int(min(stair.end, position + 50))):
        assert schedule.stair(later)[:4] == stair[:4]


@given(schedule=st.from_type(Schedule), position=POSITIONS)
def test_a_cycle_number_changes_where_a_cycle_ends(schedule, position):
    stair = schedule.stair(position)
    if stair.ends_cycle:
        assert schedule.stair(stair.end).cycle == stair.cycle + 1


@given(schedule=st.from_type(Schedule))
def test_cycles_are_numbered_from_0_without_a_gap(schedule):
    cycles = [schedule.stair(position).cycle for position in range(60)]
    assert cycles[0] == 0
    assert all(after - before in (0, 1) for before, after in pairwise(cycles))


@given(schedule=st.from_type(Schedule))
def test_the_text_gives_the_schedule_back(schedule):
    text = str(schedule)
    again = parse(text, schedule.first_size, clock=schedule.clock)
    assert again == schedule
    assert str(again) == text


@given(schedule=st.from_type(Schedule))
def test_the_repr_needs_nothing_else(schedule):
    assert parse(repr(schedule)) == schedule
    assert eval(repr(schedule), NAMES) == schedule


@given(schedule=st.from_type(Schedule))
def test_it_survives_pickling_with_its_hash(schedule):
    again = pickle.loads(pickle.dumps(schedule))
    assert again == schedule
    assert hash(again) == hash(schedule)


@given(one=st.from_type(Schedule), other=st.from_type(Schedule))
def test_schedules_are_equal_where_their_calls_are(one, other):
    assert (one == other) == (repr(one) == repr(other))


@given(schedule=st.from_type(Schedule))
def test_numbers_of_numpy_make_the_same_schedule(schedule):
    given_as = {int: np.int64, float: np.float64}
    values = {field.name: getattr(schedule, field.name) for field in fields(schedule) if field.init}
    numbers = {name: value for name, value in values.items() if type(value) in given_as}
    if type(schedule).__init__.__qualname__ in ("join.__init__", "thresholds.__init__"):
        return
    made = replace(schedule, **{name: given_as[type(n)](n) for name, n in numbers.items()})
    assert repr(made) == repr(schedule)


def test_numbers_of_numpy_make_the_same_positions():
    thresholds = rebatch.thresholds({np.int64(0): np.int64(8), np.int64(5): np.int64(16)})
    assert repr(thresholds) == "thresholds(((0, 8), (5, 16)))"
    joined = rebatch.join(rebatch.constant(8), rebatch.constant(16), at=np.int64(5))
    assert repr(joined) == "join(constant(8), constant(16), at=5)"


def test_the_clock_tells_schedules_apart():
    assert cyclical(10, width=5) != cyclical(10, width=5, clock="updates")


def test_it_cannot_be_changed():
    with pytest.raises(FrozenInstanceError):
        cyclical(10, width=5).width = 6  # type: ignore[misc]


def test_the_first_size_is_the_one_training_starts_with():
    assert cyclical(10, width=5).first_size == 10


@pytest.mark.parametrize("position", [-1, -0.5, math.nan, math.inf, "1", None, True])
def test_a_position_that_is_none_is_refused(position):
    with pytest.raises(InputError, match="position must be a finite number of at least 0, got "):
        cyclical(10, width=5)(position)


@pytest.mark.parametrize("clock", ["steps", "", "Epochs", None, 3, ["epochs"]])
def test_a_clock_that_is_none_is_refused(clock):
    with pytest.raises(
        InputError, match="clock must be one of epochs, updates, samples, tokens, got "
    ):
        cyclical(10, width=5, clock=clock)
