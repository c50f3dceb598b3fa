import pytest
from hypothesis import given
from hypothesis import strategies as st

from rebatch.report._sheet import shares


def test_columns_that_fit_share_nothing():
    assert shares([]) == []
    assert shares([26, 26, 26, 26]) == []


def test_a_long_text_leaves_short_columns_their_length():
    *short, long = shares([10, 5, 400])
    assert short == pytest.approx([12 / 115 * 100, 7 / 115 * 100], abs=0.1)
    assert long == pytest.approx(96 / 115 * 100, abs=0.1)


def test_numbers_with_a_spread_break_before_short_numbers_do():
    assert shares([10, 24, 24, 24, 200])[0] == pytest.approx(12 / 115 * 100, abs=0.2)


@given(st.lists(st.integers(0, 10_000), min_size=1, max_size=12))
def test_shares_are_a_whole_sheet_in_which_nothing_vanishes(lengths):
    found = shares(lengths)
    if found:
        assert sum(found) == pytest.approx(100, abs=1)
        assert min(found) > 0
