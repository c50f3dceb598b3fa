import pytest

from rebatch import InputError, cyclical, triangular
from rebatch.schedules import Stair


class TestCyclical:
    def test_the_size_doubles_every_width_and_starts_over_after_four_steps(self):
        schedule = cyclical(10, width=2)
        sizes = [schedule(epoch) for epoch in range(10)]
        assert sizes == [10, 10, 20, 20, 40, 40, 80, 80, 10, 10]

    def test_steps_and_growth_change_the_cycle(self):
        schedule = cyclical(128, width=1, steps=3, growth=4)
        assert [schedule(epoch) for epoch in range(4)] == [128, 512, 2048, 128]

    def test_a_position_inside_an_epoch_has_the_size_of_the_epoch(self):
        assert cyclical(10, width=1)(0.999) == 10
        assert cyclical(10, width=1)(1.001) == 20

    def test_stairs_know_their_cycle_and_which_one_ends_it(self):
        schedule = cyclical(10, width=5, steps=2)
        assert schedule.stair(7) == Stair(20, 10, cycle=0, step=1, ends_cycle=True)
        assert schedule.stair(10) == Stair(10, 15, cycle=1, step=0, ends_cycle=False)

    @pytest.mark.parametrize(
        ("schedule", "text"),
        [
            (cyclical(10, width=5), "CBS-5"),
            (cyclical(10, width=5, steps=3), "CBS-5-3"),
            (cyclical(10, width=5, growth=4), "CBS-5-A"),
            (cyclical(128, width=10, steps=3, growth=4), "CBS-10-3-A"),
            (cyclical(10, width=5, growth=3), "cyclical(10, width=5, growth=3)"),
        ],
    )
    def test_its_text_is_the_papers_code_where_there_is_one(self, schedule, text):
        assert str(schedule) == text

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ({"width": 0}, "width must be a whole number of at least 1, got 0"),
            ({"width": 1.5}, "width must be a whole number of at least 1, got 1.5"),
            ({"width": 5, "steps": 1}, "steps must be a whole number of at least 2, got 1"),
            ({"width": 5, "growth": 1}, "growth must be a whole number of at least 2, got 1"),
            (
                {"width": 5, "steps": 99_999_999},
                "steps must keep every batch size at 2**53 or below, got 99999999",
            ),
            (
                {"width": 5, "growth": 4, "steps": 28},
                "steps must keep every batch size at 2**53 or below, got 28",
            ),
        ],
    )
    def test_arguments_that_make_no_cycle_are_refused(self, arguments, message):
        with pytest.raises(InputError) as caught:
            cyclical(10, **arguments)
        assert str(caught.value) == message

    def test_the_longest_cycle_ends_at_the_largest_size(self):
        assert cyclical(1, width=1, steps=54)(53) == 2**53


class TestTriangular:
    def test_the_size_walks_up_and_down_without_repeating_top_or_base(self):
        schedule = triangular(10, width=1)
        assert [schedule(epoch) for epoch in range(8)] == [10, 20, 40, 80, 40, 20, 10, 20]

    def test_two_steps_are_a_plain_alternation(self):
        schedule = triangular(10, width=1, steps=2)
        assert [schedule(epoch) for epoch in range(5)] == [10, 20, 10, 20, 10]

    def test_the_cycle_ends_on_its_last_falling_step(self):
        schedule = triangular(10, width=5, steps=3)
        assert schedule.stair(19) == Stair(20, 20, cycle=0, step=3, ends_cycle=True)

    def test_its_text_is_the_papers_code(self):
        assert str(triangular(10, width=5)) == "CBS-5-T"
        assert str(triangular(10, width=5, steps=3)) == "CBS-5-3-T"

    def test_sizes_above_any_data_are_refused(self):
        with pytest.raises(InputError, match="steps must keep every batch size at 2"):
            triangular(2, width=1, steps=54)
