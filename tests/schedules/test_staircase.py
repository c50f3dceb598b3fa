import math

import pytest

from rebatch import InputError, adabatch, milestones, square_wave, steps
from rebatch.schedules import Stair


class TestMilestones:
    def test_the_size_grows_at_each_milestone_up_to_the_largest(self):
        schedule = milestones(128, at=(60, 120, 160), factor=5, largest=3200)
        sizes = [schedule(epoch) for epoch in (0, 59, 60, 119.9, 120, 160, 500)]
        assert sizes == [128, 128, 640, 640, 3200, 3200, 3200]

    def test_the_step_counts_milestones_even_where_the_size_stays(self):
        schedule = milestones(128, at=(60, 120, 160), factor=5, largest=3200)
        assert schedule.stair(170) == Stair(3200, math.inf, step=3)

    def test_one_milestone_needs_no_tuple_and_a_list_becomes_one(self):
        assert milestones(8, at=5) == milestones(8, at=(5,)) == milestones(8, at=[5])

    def test_a_factor_below_1_lets_it_shrink(self):
        schedule = milestones(64, at=(1, 2), factor=0.25)
        assert [schedule(epoch) for epoch in range(3)] == [64, 16, 4]

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ({"at": (60, 30)}, "at must rise, got 30 after 60"),
            ({"at": (0, 30)}, "at must be a whole number of at least 1, got 0"),
            ({"at": "30"}, "at must be a whole number of at least 1, got '30'"),
            ({"at": None}, "at must be a whole number of at least 1, got None"),
            ({"at": 5, "factor": 0}, "factor must be a finite number above 0, got 0"),
            ({"at": 5, "factor": math.nan}, "factor must be a finite number above 0, got nan"),
            ({"at": 5, "factor": math.inf}, "factor must be a finite number above 0, got inf"),
            ({"at": 5, "factor": 10**400}, "factor must be a finite number above 0, got a number"),
            ({"at": 5, "largest": 100}, "largest must be at least base, which is 128, got 100"),
        ],
    )
    def test_arguments_that_make_no_staircase_are_refused(self, arguments, message):
        with pytest.raises(InputError) as caught:
            milestones(128, **arguments)
        assert str(caught.value).startswith(message)


class TestSteps:
    def test_the_size_grows_every_so_many_epochs(self):
        schedule = steps(32, every=20, largest=100)
        assert [schedule(epoch) for epoch in (0, 19, 20, 40, 60)] == [32, 32, 64, 100, 100]

    def test_growth_without_a_largest_size_stops_at_the_limit_of_all_sizes(self):
        assert steps(32, every=1)(10_000) == 2**53

    def test_a_period_that_is_none_is_refused(self):
        with pytest.raises(InputError, match="every must be a whole number of at least 1, got 0"):
            steps(32, every=0)


def test_adabatch_doubles_every_20_epochs():
    assert adabatch(128) == steps(128, every=20, factor=2)


class TestSquareWave:
    def test_two_sizes_alternate(self):
        schedule = square_wave(128, 640, width=5)
        assert [schedule(epoch) for epoch in (0, 4, 5, 9, 10)] == [128, 128, 640, 640, 128]

    def test_a_cycle_ends_with_the_second_size(self):
        assert square_wave(128, 640, width=5).stair(5) == Stair(640, 10, 0, 1, ends_cycle=True)

    @pytest.mark.parametrize("name", ["low", "high", "width"])
    def test_every_argument_must_be_a_size(self, name):
        arguments = {"low": 1, "high": 2, "width": 3, name: 0}
        with pytest.raises(InputError, match=f"{name} must be a whole number of at least 1, got 0"):
            square_wave(arguments["low"], arguments["high"], width=arguments["width"])
