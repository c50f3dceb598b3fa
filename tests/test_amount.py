import pytest

from rebatch._amount import Examples, Tokens, fraction


class TestExamples:
    @pytest.mark.parametrize(
        ("length", "batch_size", "updates", "whole"),
        [(50_000, 128, 391, 390), (100, 10, 10, 10), (5, 10, 1, 0), (0, 10, 0, 0), (1, 1, 1, 1)],
    )
    def test_a_short_last_batch_is_an_update_unless_it_is_dropped(
        self, length, batch_size, updates, whole
    ):
        assert Examples(length or 1).updates(length, batch_size) == updates
        assert Examples(length or 1, drop_last=True).updates(length, batch_size) == whole

    def test_every_sample_is_delivered_unless_the_last_batch_is_dropped(self):
        assert Examples(105).delivered(105, 10) == 105
        assert Examples(105, drop_last=True).delivered(105, 10) == 100

    def test_full_updates_take_as_much_data_as_they_deliver(self):
        assert Examples(105).full(10) == 10
        assert Examples(105).length(3, 10) == 30


class TestTokens:
    @pytest.mark.parametrize(
        ("count", "batch_size", "updates"),
        [(929_589, 20, 1328), (929_589, 10, 2656), (2_088_628, 80, 746), (100, 50, 1), (99, 50, 0)],
    )
    def test_updates_are_rows_less_the_first_in_segments(self, count, batch_size, updates):
        assert Tokens(count, bptt=35).updates(count, batch_size) == updates

    def test_the_first_row_and_the_remainder_are_not_predicted(self):
        # 103 tokens in 10 columns: 10 rows, of which 9 are predicted
        assert Tokens(103, bptt=4).delivered(103, 10) == 90

    def test_a_stretch_of_full_updates_has_one_row_more_than_it_predicts(self):
        assert Tokens(103, bptt=4).full(10) == 40
        assert Tokens(103, bptt=4).length(2, 10) == 90


def test_a_position_is_whole_where_it_can_be():
    assert fraction(3, 0, 100) == 3
    assert isinstance(fraction(3, 0, 100), int)
    assert fraction(3, 25, 100) == 3.25
