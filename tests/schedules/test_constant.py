import math

import pytest

from rebatch import InputError, constant
from rebatch.schedules import Stair


def test_the_size_never_changes():
    assert [constant(128)(epoch) for epoch in (0, 0.5, 1, 10**9)] == [128, 128, 128, 128]


def test_it_is_one_cycle_without_an_end():
    assert constant(7).stair(3) == Stair(7, math.inf, cycle=0, step=0, ends_cycle=False)


def test_its_text_is_the_papers_baseline():
    assert str(constant(128)) == "BL"
    assert repr(constant(128, clock="updates")) == "constant(128, clock='updates')"


@pytest.mark.parametrize("base", [0, -1, 2.5, True, None, "10", math.nan])
def test_a_base_that_is_no_size_is_refused(base):
    with pytest.raises(InputError) as caught:
        constant(base)
    assert str(caught.value) == f"base must be a whole number of at least 1, got {base!r}"


def test_a_base_above_any_data_is_refused():
    assert constant(2**53).base == 9007199254740992
    with pytest.raises(InputError, match=r"base must be at most 2\*\*53, got 9007199254740993"):
        constant(2**53 + 1)
