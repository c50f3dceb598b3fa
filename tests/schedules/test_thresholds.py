import math

import pytest

from rebatch import InputError, thresholds
from rebatch.schedules import Stair
from rebatch.schedules._thresholds import short


def test_each_size_holds_from_its_threshold_on():
    schedule = thresholds({0: 768, 10: 1536, 20: 384})
    assert [schedule(epoch) for epoch in (0, 9.9, 10, 19, 20, 1000)] == [
        *(768, 768, 1536, 1536, 384, 384)
    ]


def test_pairs_and_a_mapping_say_the_same():
    assert thresholds([(0, 8), (5, 16)]) == thresholds({0: 8, 5: 16})
    assert thresholds([[0, 8], [5, 16]]) == thresholds({0: 8, 5: 16})


def test_the_last_stair_has_no_end():
    assert thresholds({0: 8, 5: 16}).stair(7) == Stair(16, math.inf, step=1)


def test_its_text_uses_suffixes_where_they_keep_numbers_whole():
    schedule = thresholds({0: 768, 250_000_000_000: 1536, 2_500_000_000_001: 3072})
    assert str(schedule) == "0:768 250B:1536 2500000000001:3072"


@pytest.mark.parametrize(
    ("number", "text"),
    [(0, "0"), (999, "999"), (1000, "1K"), (2_000_000, "2M"), (3 * 10**9, "3B"), (10**13, "10T")],
)
def test_a_number_is_written_with_the_largest_suffix(number, text):
    assert short(number) == text


@pytest.mark.parametrize(
    ("points", "message"),
    [
        ({}, "thresholds must start at 0, got none"),
        ({5: 8}, "thresholds must start at 0, got 5"),
        ([(0, 8), (10, 16), (5, 32)], "thresholds must rise, got 5 after 10"),
        ([(0, 8), (10, 16), (10, 32)], "thresholds must rise, got 10 after 10"),
        ({0: 0}, "batch size must be a whole number of at least 1, got 0"),
        ({0: 8, 2.5: 16}, "threshold must be a whole number of at least 0, got 2.5"),
        ({-1: 8}, "threshold must be a whole number of at least 0, got -1"),
        (5, "points must be pairs of threshold and size, got 5"),
        ([(0, 8, 9)], "points must be pairs of threshold and size, got [(0, 8, 9)]"),
        ([5], "points must be pairs of threshold and size, got [5]"),
        ("08", "points must be pairs of threshold and size, got '08'"),
    ],
)
def test_points_that_make_no_schedule_are_refused(points, message):
    with pytest.raises(InputError) as caught:
        thresholds(points)
    assert str(caught.value) == message
