import pytest

from rebatch._amount import Examples, Tokens
from rebatch._run import Place, Run

HUNDRED = Examples(100)


@pytest.mark.parametrize(
    ("updates", "place"),
    [
        (0, Place(0, 0, 0, 0)),
        (1, Place(0, 30, 1, 30)),
        (3, Place(0, 90, 3, 90)),
        (4, Place(1, 0, 4, 100)),
        (5, Place(1, 30, 5, 130)),
        (40, Place(10, 0, 40, 1000)),
    ],
)
def test_an_epoch_is_over_when_it_has_no_further_update(updates, place):
    assert Run(HUNDRED, 30, Place()).place(updates) == place


def test_a_run_that_starts_inside_an_epoch_takes_what_is_left_of_it():
    run = Run(HUNDRED, 30, Place(epoch=2, offset=50, update=7, sample=250))
    assert (run.first, run.each) == (2, 4)
    assert run.place(1) == Place(2, 80, 8, 280)
    assert run.place(2) == Place(3, 0, 9, 300)
    assert run.place(3) == Place(3, 30, 10, 330)


def test_too_little_for_a_full_batch_is_left_out_with_drop_last():
    run = Run(Examples(100, drop_last=True), 30, Place(epoch=0, offset=80, update=4, sample=80))
    assert run.first == 0
    assert run.place(0) == Place(1, 0, 4, 80)
    assert run.place(3) == Place(2, 0, 7, 170)


def test_columns_of_tokens_lose_a_row_for_every_stretch():
    run = Run(Tokens(103, bptt=4), 10, Place())
    # 10 rows of 10 columns, 9 of them predicted, in segments of 4, 4 and 1
    assert (run.first, run.each) == (3, 3)
    assert run.place(1) == Place(0, 50, 1, 40)
    assert run.place(2) == Place(0, 90, 2, 80)
    assert run.place(3) == Place(1, 0, 3, 90)


@pytest.mark.parametrize(
    ("clock", "end", "updates"),
    [
        ("updates", 9, 2),
        ("epochs", 3, 2),
        ("epochs", 5, 10),
        ("samples", 251, 1),
        ("samples", 280, 1),
        ("samples", 281, 2),
        ("samples", 300, 2),
        ("samples", 301, 3),
        ("tokens", 700, 18),
        ("tokens", 701, 19),
    ],
)
def test_the_updates_until_a_clock_shows_a_number_are_the_fewest(clock, end, updates):
    run = Run(HUNDRED, 30, Place(epoch=2, offset=50, update=7, sample=250))
    assert run.until(clock, end) == updates
