import math

import pytest

from rebatch.report._scale import doubling_ticks, drawable, extent, linear_ticks, short


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (0, 60, [0, 10, 20, 30, 40, 50, 60]),
        (0, 39, [0, 10, 20, 30]),
        (0, 93750, [0, 20000, 40000, 60000, 80000]),
        (96.2, 97.1, [96.2, 96.4, 96.6, 96.8, 97.0]),
        (-1, 1, [-1, -0.5, 0, 0.5, 1]),
        (0.1, 0.3, [0.1, 0.15, 0.2, 0.25, 0.3]),
        (1e-5, 3e-5, [1e-5, 1.5e-5, 2e-5, 2.5e-5, 3e-5]),
    ],
)
def test_linear_ticks_are_round_numbers_inside_the_range(low, high, ticks):
    assert linear_ticks(low, high) == pytest.approx(ticks)


def test_no_tick_is_written_as_minus_zero():
    assert [str(tick) for tick in linear_ticks(-1, 1)] == ["-1.0", "-0.5", "0.0", "0.5", "1.0"]


def test_ticks_of_batch_sizes_are_doublings_of_the_smallest():
    assert doubling_ticks(10, 7.8, 816) == [10, 20, 40, 80, 160, 320, 640]
    assert doubling_ticks(3, 3, 12) == [3, 6, 12]


def test_too_many_doublings_are_thinned_evenly():
    assert doubling_ticks(1, 1, 1024, count=6) == [1, 4, 16, 64, 256, 1024]


def test_a_range_of_one_value_has_room_around_it():
    assert extent([5.0]) == (4.5, 5.5)
    assert extent([0.0, 0.0]) == (-1.0, 1.0)


def test_a_range_of_nothing_is_still_a_range():
    assert extent([]) == (0.0, 1.0)
    assert extent([], log=True) == (1.0, 2.0)


@pytest.mark.parametrize("value", [None, math.nan, math.inf, -math.inf, 1e308])
def test_what_is_no_number_has_no_place(value):
    assert not drawable(value)


def test_zero_has_no_place_on_a_doubling_axis():
    assert drawable(0)
    assert not drawable(0, log=True)


def test_labels_of_ticks_are_short():
    texts = [short(value) for value in (0, -0.5, 9999, 10_000, 250e9, 2e12, 1e-5)]
    assert texts == ["0", "-0.5", "9999", "10k", "250B", "2T", "1e-05"]
