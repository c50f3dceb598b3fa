import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rebatch import InputError, noise_scale
from rebatch.noise import batch_size_for, rate_for

RATES = st.floats(1e-6, 100)
NUMBERS = st.integers(2, 10**9)
MOMENTA = st.sampled_from((0, 0.5, 0.9, 0.99))


def test_it_is_the_rate_times_the_number_of_batches():
    assert noise_scale(0.1, 128, 50_000) == 39.0625


def test_the_exact_form_is_one_batch_less():
    assert noise_scale(0.5, 10, 100, exact=True) == 4.5
    assert noise_scale(0.5, 100, 100, exact=True) == 0


def test_momentum_makes_the_rate_count_for_more():
    assert noise_scale(0.5, 10, 100, momentum=0.75) == 20


def test_a_rate_of_0_makes_no_noise():
    assert noise_scale(0, 10, 100) == 0


@given(rate=RATES, size=NUMBERS, more=NUMBERS, momentum=MOMENTA, exact=st.booleans())
def test_rate_and_batch_size_come_back_from_the_noise(rate, size, more, momentum, exact):
    examples = size + more
    noise = noise_scale(rate, size, examples, momentum=momentum, exact=exact)
    found_size = batch_size_for(noise, rate, examples, momentum=momentum, exact=exact)
    found_rate = rate_for(noise, size, examples, momentum=momentum, exact=exact)
    assert found_size == pytest.approx(size, rel=1e-6)
    assert found_rate == pytest.approx(rate, rel=1e-6)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((-0.1, 10, 100), "rate must be a finite number of at least 0, got -0.1"),
        ((math.nan, 10, 100), "rate must be a finite number of at least 0, got nan"),
        ((0.1, 0, 100), "batch_size must be a finite number above 0, got 0"),
        ((0.1, 10, math.inf), "examples must be a finite number above 0, got inf"),
    ],
)
def test_numbers_that_make_no_noise_scale_are_refused(arguments, message):
    with pytest.raises(InputError) as caught:
        noise_scale(*arguments)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("momentum", "message"),
    [
        (1, "momentum must be below 1, got 1"),
        (-0.1, "momentum must be a finite number of at least 0, got -0.1"),
        (math.nan, "momentum must be a finite number of at least 0, got nan"),
    ],
)
def test_a_momentum_that_is_none_is_refused(momentum, message):
    with pytest.raises(InputError) as caught:
        noise_scale(0.1, 10, 100, momentum=momentum)
    assert str(caught.value) == message


def test_the_exact_form_knows_no_batch_above_the_data():
    with pytest.raises(InputError, match="batch_size must be at most the 100 examples, got 101"):
        noise_scale(0.1, 101, 100, exact=True)
    with pytest.raises(InputError, match="batch_size must be below the 100 examples, got 100"):
        rate_for(1, 100, 100, exact=True)


def test_the_inverse_of_no_noise_is_refused():
    with pytest.raises(InputError, match="noise must be a finite number above 0, got 0"):
        batch_size_for(0, 0.1, 100)
    assert batch_size_for(0, 0.1, 100, exact=True) == 100


def test_numbers_of_numpy_give_one_of_python():
    found = noise_scale(np.float32(0.5), np.int64(10), np.int64(100))
    assert (found, type(found)) == (5.0, float)
