import pytest
from hypothesis import given
from hypothesis import strategies as st

import rebatch
from rebatch import InputError, Schedule, clamp, constant, cyclical, join, linear, repeat
from rebatch.schedules import Stair, multiple_of

POSITIONS = range(40)


class TestJoin:
    @given(one=st.from_type(Schedule), other=st.from_type(Schedule), at=st.integers(1, 20))
    def test_it_is_the_first_up_to_the_change_and_then_the_second_from_its_start(
        self, one, other, at
    ):
        if one.clock != other.clock:
            with pytest.raises(InputError, match="schedules must share one clock, got "):
                join(one, other, at=at)
            return
        joined = join(one, other, at=at)
        wanted = [one(p) if p < at else other(p - at) for p in POSITIONS]
        assert [joined(position) for position in POSITIONS] == wanted

    def test_a_cycle_that_the_change_cuts_short_does_not_end(self):
        joined = join(cyclical(10, width=2, steps=2), constant(5), at=3)
        assert joined.stair(2) == Stair(20, 3, cycle=0, step=1, ends_cycle=False)
        assert joined.stair(3).cycle == 1

    def test_a_cycle_that_ends_with_the_change_does(self):
        joined = join(cyclical(10, width=2, steps=2), constant(5), at=4)
        assert joined.stair(2) == Stair(20, 4, cycle=0, step=1, ends_cycle=True)

    def test_three_parts_change_over_twice(self):
        joined = join(constant(1), constant(2), constant(3), at=[2, 4])
        assert [joined(epoch) for epoch in range(6)] == [1, 1, 2, 2, 3, 3]
        assert repr(joined) == "join(constant(1), constant(2), constant(3), at=(2, 4))"

    def test_one_part_alone_needs_no_change(self):
        assert join(constant(4), at=())(100) == 4

    @pytest.mark.parametrize(
        ("parts", "at", "message"),
        [
            ((), (), "at must hold one position less than there are schedules, got 0 for 0"),
            ((1, 2), (), "at must hold one position less than there are schedules, got 0 for 2"),
            ((1,), 5, "at must hold one position less than there are schedules, got 1 for 1"),
            ((1, 2, 3), (5, 5), "at must rise, got 5 after 5"),
            ((1, 2), 0, "at must be a whole number of at least 1, got 0"),
            ((1, 2), 5, "schedule must be a schedule, got 1"),
        ],
    )
    def test_parts_that_do_not_join_are_refused(self, parts, at, message):
        with pytest.raises(InputError) as caught:
            join(*parts, at=at)
        assert str(caught.value) == message


class TestRepeat:
    @given(schedule=st.from_type(Schedule), every=st.integers(1, 20))
    def test_it_is_the_schedule_read_modulo_its_period(self, schedule, every):
        repeated = repeat(schedule, every=every)
        wanted = [schedule(position % every) for position in POSITIONS]
        assert [repeated(position) for position in POSITIONS] == wanted

    def test_each_pass_ends_a_cycle(self):
        repeated = repeat(linear(10, 30, length=2), every=3)
        assert repeated.stair(2) == Stair(30, 3, cycle=0, ends_cycle=True)
        assert repeated.stair(3).cycle == 1

    def test_cycles_inside_a_pass_are_counted_on(self):
        repeated = repeat(cyclical(10, width=1, steps=2), every=5)
        assert [repeated.stair(epoch).cycle for epoch in range(10)] == [
            *(0, 0, 1, 1, 2),
            *(3, 3, 4, 4, 5),
        ]

    def test_a_period_that_is_none_is_refused(self):
        with pytest.raises(InputError, match="every must be a whole number of at least 1, got 0"):
            repeat(constant(1), every=0)


class TestClamp:
    @given(
        schedule=st.from_type(Schedule), low=st.integers(1, 20), more=st.none() | st.integers(0, 50)
    )
    def test_it_is_the_size_between_its_limits(self, schedule, low, more):
        high = None if more is None else low + more
        clamped = clamp(schedule, low=low, high=high)
        most = float("inf") if high is None else high
        wanted = [min(most, max(low, schedule(position))) for position in POSITIONS]
        assert [clamped(position) for position in POSITIONS] == wanted

    def test_a_cap_clips_a_cycle_and_does_not_end_it(self):
        clamped = clamp(rebatch.parse("CBS-1", base=10), high=50)
        assert [clamped(epoch) for epoch in range(10)] == [10, 20, 40, 50, 10, 20, 40, 50, 10, 20]

    def test_the_clock_is_that_of_the_schedule(self):
        clamped = clamp(constant(5, clock="updates"), low=8)
        assert clamped.clock == "updates"
        assert repr(clamped) == "clamp(constant(5, clock='updates'), low=8)"

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ({"low": 0}, "low must be a whole number of at least 1, got 0"),
            ({"high": 2.5}, "high must be a whole number of at least 1, got 2.5"),
            ({"low": 8, "high": 4}, "high must be at least low, which is 8, got 4"),
        ],
    )
    def test_limits_that_are_none_are_refused(self, arguments, message):
        with pytest.raises(InputError) as caught:
            clamp(constant(5), **arguments)
        assert str(caught.value) == message

    def test_a_text_is_no_schedule_yet(self):
        with pytest.raises(InputError, match="schedule must be a schedule, got 'CBS-5'"):
            clamp("CBS-5")


class TestMultipleOf:
    @given(schedule=st.from_type(Schedule), number=st.integers(1, 32))
    def test_it_is_the_nearest_multiple_and_never_none(self, schedule, number):
        rounded = multiple_of(schedule, number)
        for position in POSITIONS:
            size = rounded(position)
            assert size % number == 0
            edge = size == number or size + number > 2**53
            assert edge or abs(size - schedule(position)) <= number / 2

    def test_halves_are_rounded_up(self):
        rounded = multiple_of(linear(8, 56, length=3), 16)
        assert [rounded(epoch) for epoch in range(4)] == [16, 32, 48, 64]

    def test_it_never_rounds_above_the_limit_of_all_sizes(self):
        assert multiple_of(constant(2**53), 3)(0) == 2**53 - 2

    def test_a_number_that_is_none_is_refused(self):
        with pytest.raises(InputError, match="number must be a whole number of at least 1, got 0"):
            multiple_of(constant(5), 0)
