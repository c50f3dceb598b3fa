import math
import operator
import pickle

import pytest

from rebatch import InputError, from_function
from rebatch.schedules import Stair


def square(epoch: int) -> int:
    return 10 + epoch**2


def test_the_function_is_asked_at_every_unit_of_the_clock():
    assert [from_function(square)(epoch) for epoch in (0, 1, 1.9, 2, 3)] == [10, 11, 11, 14, 19]


def test_what_it_says_is_rounded():
    assert from_function(lambda epoch: 10.6)(0) == 11


def test_a_stair_lasts_one_unit_because_anything_may_follow():
    assert from_function(square).stair(3) == Stair(19, 4)


def test_schedules_of_the_same_function_are_equal_and_pickle():
    assert from_function(operator.index) == from_function(operator.index)
    assert pickle.loads(pickle.dumps(from_function(operator.abs)))(7) == 7


def test_its_repr_names_the_function():
    assert repr(from_function(square, clock="updates")) == "from_function(square, clock='updates')"


@pytest.mark.parametrize("said", [0, 0.9, -3, math.nan, math.inf, 2**54, None, "many", 10**400])
def test_what_is_no_size_is_refused(said):
    with pytest.raises(InputError, match=r"function must return a number from 1 to 2\*\*53, got "):
        from_function(lambda epoch: said)(0)


def test_what_cannot_be_called_is_refused():
    with pytest.raises(InputError, match="function must be callable, got 5"):
        from_function(5)
