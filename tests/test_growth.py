import pytest

from rebatch._growth import grown


@pytest.mark.parametrize(
    ("base", "factor", "times", "largest", "size"),
    [
        (128, 5, 0, None, 128),
        (128, 5, 1, None, 640),
        (128, 5, 3, 3200, 3200),
        (100, 1.1, 3, None, 133),
        (10, 0.5, 2, None, 2),
        (10, 0.5, 100, None, 1),
        (1, 2, 53, None, 9007199254740992),
        (1, 2, 54, None, 9007199254740992),
        (1, 2.5, 10**9, None, 9007199254740992),
        (1, 10**300, 10**9, 64, 64),
    ],
)
def test_the_power_is_rounded_once_and_kept_in_its_limits(base, factor, times, largest, size):
    assert grown(base, factor, times, largest) == size
