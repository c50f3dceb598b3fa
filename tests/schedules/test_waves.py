import math

import pytest

from rebatch import InputError, cosine, cyclic, one_cycle
from rebatch.schedules import Stair


class TestCosine:
    def test_the_size_goes_along_half_a_cosine_and_stays(self):
        assert [cosine(10, 50, length=4)(epoch) for epoch in range(6)] == [10, 16, 30, 44, 50, 50]

    def test_with_restarts_it_starts_over(self):
        schedule = cosine(10, 50, length=4, restarts=True)
        assert [schedule(epoch) for epoch in range(9)] == [10, 16, 30, 44, 10, 16, 30, 44, 10]

    def test_cycles_may_get_longer(self):
        schedule = cosine(10, 50, length=2, restarts=True, lengthen=2)
        cycles = [schedule.stair(epoch).cycle for epoch in range(15)]
        assert cycles == [0, 0, 1, 1, 1, 1, *[2] * 8, 3]

    def test_a_restart_ends_a_cycle_and_none_ends_without(self):
        assert cosine(10, 50, length=2, restarts=True).stair(1) == Stair(30, 2, ends_cycle=True)
        assert cosine(10, 50, length=2).stair(2) == Stair(50, math.inf, ends_cycle=False)

    def test_longer_cycles_without_restarts_are_refused(self):
        with pytest.raises(InputError, match="lengthen must be 1 without restarts, got 2"):
            cosine(10, 50, length=2, lengthen=2)


class TestOneCycle:
    def test_the_size_falls_for_the_share_turn_and_rises_for_the_rest(self):
        schedule = one_cycle(64, 16, 256, length=10)
        sizes = [schedule(epoch) for epoch in range(12)]
        assert sizes == [64, 52, 28, 16, 28, 61, 109, 163, 211, 244, 256, 256]

    def test_a_turn_inside_a_unit_is_not_skipped(self):
        schedule = one_cycle(10, 1, 10, length=5, turn=0.5)
        assert [schedule(epoch) for epoch in range(6)] == [10, 7, 2, 2, 7, 10]

    def test_its_one_cycle_ends_with_its_length(self):
        assert one_cycle(64, 16, 256, length=10).stair(9).ends_cycle
        assert one_cycle(64, 16, 256, length=10).stair(10) == Stair(256, math.inf, cycle=1)

    @pytest.mark.parametrize(
        ("turn", "message"),
        [
            (0, "turn must be a finite number above 0, got 0"),
            (1, "turn must be between 0 and 1, got 1"),
            (math.nan, "turn must be a finite number above 0, got nan"),
        ],
    )
    def test_a_turn_outside_the_cycle_is_refused(self, turn, message):
        with pytest.raises(InputError) as caught:
            one_cycle(64, 16, 256, length=10, turn=turn)
        assert str(caught.value) == message


class TestCyclic:
    def test_the_size_swings_in_straight_lines(self):
        schedule = cyclic(10, 50, width=2)
        assert [schedule(epoch) for epoch in range(9)] == [10, 30, 50, 30, 10, 30, 50, 30, 10]

    def test_it_may_swing_downwards(self):
        schedule = cyclic(64, 8, width=4)
        assert [schedule(epoch) for epoch in range(9)] == [64, 50, 36, 22, 8, 22, 36, 50, 64]

    def test_triangular2_halves_the_swing_every_cycle(self):
        schedule = cyclic(10, 50, width=1, mode="triangular2")
        assert [schedule(epoch) for epoch in range(7)] == [10, 50, 10, 30, 10, 20, 10]

    def test_exp_range_shrinks_the_swing_every_epoch(self):
        schedule = cyclic(10, 50, width=1, mode="exp_range", gamma=0.5)
        assert [schedule(epoch) for epoch in range(6)] == [10, 30, 10, 15, 10, 11]

    def test_a_cycle_ends_back_at_its_start(self):
        assert cyclic(10, 50, width=2).stair(3) == Stair(30, 4, ends_cycle=True)
        assert cyclic(10, 50, width=2).stair(4).cycle == 1

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ({"width": 0}, "width must be a whole number of at least 1, got 0"),
            ({"width": 1, "gamma": 1.5}, "gamma must be at most 1, got 1.5"),
            ({"width": 1, "gamma": 0}, "gamma must be a finite number above 0, got 0"),
            (
                {"width": 1, "mode": "square"},
                "mode must be one of triangular, triangular2, exp_range, got 'square'",
            ),
        ],
    )
    def test_arguments_that_make_no_wave_are_refused(self, arguments, message):
        with pytest.raises(InputError) as caught:
            cyclic(10, 50, **arguments)
        assert str(caught.value) == message
