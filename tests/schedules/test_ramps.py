import math

import pytest

from rebatch import InputError, exponential, linear, polynomial
from rebatch.schedules import Stair


class TestPolynomial:
    def test_the_size_follows_a_power_of_the_time_and_stays(self):
        schedule = polynomial(10, 90, length=4, power=2)
        assert [schedule(epoch) for epoch in range(7)] == [10, 15, 30, 55, 90, 90, 90]

    def test_a_root_rises_fast_at_first(self):
        schedule = polynomial(4, 104, length=4, power=0.5)
        assert [schedule(epoch) for epoch in range(5)] == [4, 54, 75, 91, 104]

    def test_it_may_fall(self):
        assert [linear(50, 10, length=4)(epoch) for epoch in range(6)] == [50, 40, 30, 20, 10, 10]

    def test_a_size_is_rounded_once_from_the_exact_value(self):
        assert [linear(1, 2, length=3)(epoch) for epoch in range(4)] == [1, 1, 2, 2]

    def test_a_position_inside_a_unit_has_the_size_of_its_start(self):
        assert linear(10, 50, length=4)(1.9) == 20

    def test_a_stair_ends_where_the_rounded_size_changes(self):
        schedule = linear(768, 1536, length=250_000_000_000, clock="tokens")
        first = schedule.stair(0)
        assert (schedule(first.end - 1), schedule(first.end)) == (768, 769)
        assert first == Stair(768, 162760417)

    def test_it_is_flat_for_ever_at_the_end(self):
        assert linear(10, 50, length=4).stair(4) == Stair(50, math.inf)

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ((0, 5, 4, 1), "start must be a whole number of at least 1, got 0"),
            ((5, -1, 4, 1), "end must be a whole number of at least 1, got -1"),
            ((5, 9, 0, 1), "length must be a whole number of at least 1, got 0"),
            ((5, 9, 4, 0), "power must be a finite number above 0, got 0"),
            ((5, 9, 4, math.nan), "power must be a finite number above 0, got nan"),
        ],
    )
    def test_arguments_that_make_no_ramp_are_refused(self, arguments, message):
        start, end, length, power = arguments
        with pytest.raises(InputError) as caught:
            polynomial(start, end, length=length, power=power)
        assert str(caught.value) == message


def test_linear_is_a_polynomial_of_power_1():
    assert linear(8, 64, length=5) == polynomial(8, 64, length=5, power=1)


class TestExponential:
    def test_the_size_grows_by_a_factor_from_the_base_not_from_the_last_size(self):
        schedule = exponential(10, factor=1.1)
        sizes = [schedule(epoch) for epoch in range(8)]
        assert sizes == [10, 11, 12, 13, 15, 16, 18, 19]

    def test_the_largest_size_is_where_it_stays(self):
        schedule = exponential(10, factor=3, largest=100)
        assert [schedule(epoch) for epoch in range(4)] == [10, 30, 90, 100]
        assert schedule.stair(4) == Stair(100, math.inf)

    def test_a_factor_below_1_ends_at_1(self):
        schedule = exponential(10, factor=0.5)
        assert [schedule(epoch) for epoch in range(6)] == [10, 5, 2, 1, 1, 1]

    def test_a_factor_of_1_is_flat(self):
        assert exponential(10, factor=1).stair(0) == Stair(10, math.inf)

    def test_growth_stops_at_the_limit_of_all_sizes(self):
        assert exponential(10, factor=2)(10_000) == 2**53
