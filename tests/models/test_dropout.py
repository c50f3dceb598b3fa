import pytest

from rebatch.errors import InputError
from rebatch.models.dropout import dropout


@pytest.mark.parametrize("probability", [-0.1, 1.0, float("nan")])
def test_a_probability_outside_the_range_is_refused(probability: float) -> None:
    with pytest.raises(InputError, match="dropout must be at least 0 and below 1, got"):
        dropout(probability)
