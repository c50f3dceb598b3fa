import math
import re
from xml.etree import ElementTree

from rebatch.report import Chart, Mark, Series
from rebatch.report._svg import style, svg

EDGE = {"x_range": (0, 10), "y_range": (0, 10), "height": 258}
"""On this paper a tenth of either axis is 64.8 pixels across and 20 up."""


def drawn(*series, marks=(), **options):
    chart = Chart(
        **{**EDGE, **options},
        title="<t> & 'u'",
        x_label="<x>",
        y_label="y",
        series=series,
        marks=marks,
    )
    text = svg(chart, "one")
    ElementTree.fromstring(text)
    return text


def paths(text, kind):
    return re.findall(rf'<path class="{kind}[^"]*" d="([^"]*)"', text)


def test_a_line_goes_through_its_points():
    text = drawn(Series(name="a", x=[0, 5, 10], y=[0, 10, 5]))
    assert paths(text, "curve") == ["M58.0 212.0L382.0 12.0L706.0 112.0"]


def test_a_step_holds_until_the_next_point():
    text = drawn(Series(name="a", x=[0, 5, 10], y=[0, 10, 10], step=True))
    assert paths(text, "curve") == ["M58.0 212.0H382.0V12.0H706.0V12.0"]


def test_a_missing_value_leaves_a_gap():
    text = drawn(Series(name="a", x=[0, 1, 2, 3, 4], y=[0, 0, math.nan, 0, 0]))
    assert paths(text, "curve") == ["M58.0 212.0L122.8 212.0M252.4 212.0L317.2 212.0"]


def test_a_doubling_axis_gives_doublings_equal_heights():
    series = Series(name="a", x=[0, 5, 10], y=[1, 2, 4])
    text = drawn(series, log=True, y_range=(1, 4))
    assert paths(text, "curve") == ["M58.0 212.0L382.0 112.0L706.0 12.0"]


def test_a_band_is_closed_around_its_curve():
    text = drawn(Series(name="a", x=[0, 10], y=[5, 5], low=[4, 4], high=[6, 6]))
    assert paths(text, "band") == ["M58.0 92.0L706.0 92.0L706.0 132.0L58.0 132.0Z"]


def test_a_band_of_steps_has_corners():
    series = Series(name="a", x=[0, 10], y=[5, 6], low=[5, 5], high=[5, 10], step=True)
    assert paths(drawn(series), "band") == [
        "M58.0 112.0L706.0 112.0L706.0 12.0L706.0 112.0L706.0 112.0L58.0 112.0Z"
    ]


def test_a_mark_is_a_vertical_line_in_the_colour_of_its_series():
    one, two = (Series(name=name, x=[0, 10], y=[1, 2]) for name in "ab")
    text = drawn(one, two, marks=[Mark(at=5), Mark(at=10, series="b")])
    assert '<path class="mark" d="M382.0 12V212"/>' in text
    assert '<path class="mark s1 d0" d="M706.0 12V212"/>' in text


def test_several_curves_carry_their_shapes_and_one_does_not():
    one, two = (Series(name=name, x=[0, 10], y=[1, 2]) for name in "ab")
    assert drawn(one).count("<use") == 0
    assert drawn(one, two).count("<use") == 4


def test_a_point_without_a_line_is_drawn():
    assert drawn(Series(name="a", x=[5], y=[5])).count("<use") == 1


def test_texts_are_escaped():
    text = drawn()
    assert '<title id="one-title">&lt;t&gt; &amp; &#x27;u&#x27;</title>' in text
    assert ">&lt;x&gt;</text>" in text


def test_a_chart_without_data_says_so():
    assert ">no data</text>" in drawn()
    assert "no data" not in drawn(Series(name="a", x=[5], y=[5]))


def test_the_title_and_the_description_stand_for_the_picture():
    assert '<svg role="img" aria-labelledby="one-title one-desc"' in drawn()


def test_no_two_of_the_first_24_series_look_the_same():
    assert len({style(index) for index in range(24)}) == 24
    assert style(7) == "s1 d1"


def test_many_marks_are_short_ones_along_the_axis():
    flat = Series(name="a", x=[0, 10], y=[5, 5])
    few = drawn(flat, marks=[Mark(at=at, series="a") for at in range(10)])
    assert paths(few, "mark")[5] == "M382.0 12V212"
    many = drawn(flat, marks=[Mark(at=at / 2, series="a") for at in range(20)])
    assert paths(many, "mark short")[10] == "M382.0 200V212"


def test_a_mark_on_a_curve_is_a_ring_at_its_height():
    slope = Series(name="a", x=[0, 10], y=[0, 10])
    noted = Mark(at=5, label="decided", note="why", series="a", on_curve=True)
    silent = Mark(at=7, note="nothing changed", series="a", on_curve=True)
    text = drawn(slope, marks=[noted, silent])
    assert re.findall(r'<circle class="ring[^"]*" cx="([\d.]+)" cy="([\d.]+)"', text) == [
        ("382.0", "112.0")
    ]
    assert paths(text, "mark") == []
