import math

import pytest

from rebatch.errors import InputError
from rebatch.report import Chart, Series


def chart(*series, **options):
    return Chart(title="t", x_label="epoch", y_label="loss", series=series, **options)


def test_the_axes_show_all_of_the_data():
    made = chart(Series(name="a", x=[0, 10], y=[1, 2], low=[0.5, 1], high=[2, 2.5]))
    assert made.ranges == ((0, 10), (0.38, 2.62))


def test_a_steep_start_can_be_left_out_of_the_vertical_range():
    made = chart(Series(name="a", x=[0, 5, 10], y=[100, 2, 1]), skip=0.3)
    assert made.ranges == ((0, 10), (0.94, 2.06))


def test_given_ranges_hold():
    made = chart(Series(name="a", x=[0, 1], y=[0, 1]), x_range=(0, 5), y_range=(-1, 9))
    assert made.ranges == ((0, 5), (-1, 9))


def test_what_is_no_number_does_not_stretch_the_axis():
    made = chart(Series(name="a", x=[0, 1, 2], y=[math.inf, 5, math.nan]))
    assert made.ranges[1] == (4.5, 5.5)


def test_the_description_tells_the_curves():
    made = chart(Series(name="BL", x=[0, 1, 2], y=[3, 1, None]), Series(name="E", x=[], y=[]))
    assert made.describe() == (
        "loss against epoch. BL: from 3 to 1, lowest 1, highest 3. E: no values."
    )


def test_a_description_given_is_kept():
    assert chart(description="Two curves that cross.").describe() == "Two curves that cross."


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"y": [1]}, "y of 'a' must have as many values as x, 2, got 1"),
        ({"low": [1, 1]}, "low and high of 'a' must be given together, got one"),
        ({"low": [1], "high": [1, 2]}, "low of 'a' must have as many values as x, 2, got 1"),
        ({"x": [0, math.nan]}, "x of 'a' must be finite numbers, got one that is not"),
        ({"x": [1, 0]}, "x of 'a' must not fall, got an x below the one before"),
    ],
)
def test_values_that_do_not_fit_are_refused(options, message):
    with pytest.raises(InputError) as caught:
        Series(**{"name": "a", "x": [0, 1], "y": [1, 2], **options})
    assert str(caught.value) == message
