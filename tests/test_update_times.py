import pytest

from rebatch._update_times import PRESETS, UpdateTimes, fit, is_points, preset, read
from rebatch.errors import InputError


def line(times):
    """Start and slope in milliseconds."""
    return pytest.approx(times.fixed * 1000), pytest.approx(times.each * 1000)


def test_two_points_lie_on_the_line():
    times = fit({10: 3.0, 30: 5.0})
    assert line(times) == (2.0, 0.1)
    assert (times.smallest, times.largest, times.source) == (10, 30, "as given")
    assert times.off == pytest.approx(0)


def test_relative_errors_are_made_small():
    # With weights 1, 1/4 and 1/16 the sums are W 21/16, Wb 29/16, Wt 7/4, Wbb 57/16, Wbt 13/4,
    # so the slope is (21 * 52 - 29 * 28) / (21 * 57 - 29 * 29) = 280 / 356.
    assert line(fit({1: 1.0, 2: 2.0, 5: 4.0})) == (22 / 89, 70 / 89)


def test_a_line_does_not_start_below_0():
    # Through 0 with weights 1 and 1/9: (1 + 2/3) / (1 + 4/9).
    times = fit({1: 1.0, 2: 3.0})
    assert line(times) == (0.0, 15 / 13)
    assert times.off == pytest.approx(3 / 13)


def test_a_share_in_pieces_pays_the_fixed_part_for_each_of_them():
    times = UpdateTimes(0.002, 0.001, 1, 8, 0.0, "by hand")
    assert times.seconds(8) == pytest.approx(0.010)
    assert times.seconds(8, pieces=3) == pytest.approx(0.014)


@pytest.mark.parametrize(
    "text", ["10:3,30:5", "10:3, 30:5", " 10:3\n30:5.0\n", "# mine\n10:3 # first\n\n30:5"]
)
def test_points_are_read(text):
    assert line(read(text)) == (2.0, 0.1)


@pytest.mark.parametrize("name", PRESETS)
def test_the_lines_of_the_presets_fit_within_13_per_cent(name):
    times = preset(name)
    assert times.off < 0.13
    assert times.source == f"{name}, measured on one H200"


def test_a_preset_is_its_points():
    # Relative errors left by 0.8362 + 0.011482 b: -0.3 %, -0.6 %, +0.4 % of 2.30, 3.80 and 6.69.
    assert preset("wrn-16-4").seconds(256) == pytest.approx(0.003776, abs=1e-6)


@pytest.mark.parametrize(
    ("text", "points"), [("32:9", True), ("a:b", True), ("times.txt", False), ("", False)]
)
def test_points_are_told_from_files(text, points):
    assert is_points(text) is points


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "update_times must be of at least two batch sizes, got 0"),
        ("32:9", "update_times must be of at least two batch sizes, got 1"),
        ("32:9,32:8", "update_times must name each batch size once, got 32 twice"),
        ("32:9,64:9", "update_times must grow with the batch size, got {32: 9.0, 64: 9.0}"),
        ("0:9,64:10", "batch size of update_times must be a whole number of at least 1, got 0"),
        ("32:0,64:9", "update_times must be a finite number above 0, got 0.0"),
        ("32:nan,64:9", "update_times must be a finite number above 0, got nan"),
        (
            "32:x,64:9",
            "update_times must be points such as 32:9.5, batch size and milliseconds, got '32:x'",
        ),
    ],
)
def test_wrong_points_are_refused(text, message):
    with pytest.raises(InputError) as caught:
        read(text)
    assert str(caught.value) == message
