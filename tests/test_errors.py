import math

import numpy as np
import pytest

from rebatch import InputError, RunError
from rebatch.errors import one_of, positive_int, positive_number, rising, shown


def test_wrong_input_is_a_value_error_and_a_failed_run_is_not():
    assert issubclass(InputError, ValueError)
    assert issubclass(RunError, RuntimeError)
    assert not issubclass(RunError, ValueError)


@pytest.mark.parametrize("value", [0, -1, 2.5, 3.0, True, None, "3", math.nan, [3]])
def test_a_whole_number_is_an_int_of_at_least_1(value):
    with pytest.raises(InputError) as caught:
        positive_int("epochs", value)
    assert str(caught.value) == f"epochs must be a whole number of at least 1, got {value!r}"


@pytest.mark.parametrize("value", [np.int64(3), np.uint8(3), np.array(3)])
def test_a_whole_number_of_numpy_is_taken_as_one_of_python(value):
    taken = positive_int("epochs", value)
    assert (taken, type(taken)) == (3, int)


@pytest.mark.parametrize("value", [np.bool_(True), np.float64(3), np.array([3])])
def test_what_is_no_whole_number_to_numpy_is_refused(value):
    with pytest.raises(InputError, match="epochs must be a whole number of at least 1, got"):
        positive_int("epochs", value)


@pytest.mark.parametrize("value", [np.float32(0.5), np.float64(0.5)])
def test_a_number_of_numpy_is_taken_as_one_of_python(value):
    taken = positive_number("rate", value)
    assert (taken, type(taken)) == (0.5, float)


@pytest.mark.parametrize("value", [np.float32(math.inf), np.float32(-1), np.bool_(True)])
def test_a_number_of_numpy_is_held_to_the_same_rule(value):
    with pytest.raises(InputError, match="rate must be a finite number above 0, got "):
        positive_number("rate", value)


def test_a_whole_number_may_have_another_least_value():
    assert positive_int("rank", 0, at_least=0) == 0
    with pytest.raises(InputError, match="rank must be a whole number of at least 0, got -1"):
        positive_int("rank", -1, at_least=0)


def test_a_whole_number_that_a_float_cannot_hold_is_refused():
    assert positive_int("tokens", 2**53) == 2**53
    with pytest.raises(InputError, match=r"tokens must be at most 2\*\*53, got 9007199254740993"):
        positive_int("tokens", 2**53 + 1)
    with pytest.raises(InputError, match="got a number of 40001 bits"):
        positive_int("tokens", 2**40_000)


@pytest.mark.parametrize("value", [0, -1, math.nan, math.inf, True, None, "3", 10**400])
def test_a_number_is_finite_and_above_0(value):
    with pytest.raises(InputError, match="rate must be a finite number above 0, got "):
        positive_number("rate", value)


def test_a_number_may_be_0_where_that_is_allowed():
    assert positive_number("low", 0, zero=True) == 0
    assert positive_number("low", 5e-324) == 5e-324
    with pytest.raises(InputError, match="low must be a finite number of at least 0, got -1"):
        positive_number("low", -1, zero=True)


def test_a_choice_is_one_of_those_there_are():
    assert one_of("mode", "a", ("a", "b")) == "a"
    with pytest.raises(InputError, match="mode must be one of a, b, got 'c'"):
        one_of("mode", "c", ("a", "b"))


def test_positions_rise():
    assert rising("at", (1, 5, 6)) == (1, 5, 6)
    assert rising("at", []) == ()
    with pytest.raises(InputError, match="at must rise, got 5 after 5"):
        rising("at", (1, 5, 5))


def test_a_value_is_shown_on_one_short_line():
    assert shown("a\nb") == "'a\\nb'"
    assert len(shown("x" * 10**6)) == 100
