import pytest

from rebatch.policies import Outlook, Seen, gns

OUTLOOK = Outlook(40, 2, lambda size: 50_000 // size, 50_000)


def decide(policy, size, *readings):
    seen = [
        Seen(size, epoch, 1, 100, 0, epoch, 1.0, noise_scale=reading)
        for epoch, reading in enumerate(readings)
    ]
    return policy.next(seen, OUTLOOK)


@pytest.mark.parametrize(
    ("readings", "size"),
    [
        ((450.0, 450.0), 40),
        ((450.0, 9000.0), 40),
        ((9000.0, 450.0), 40),
        ((199.0, 9000.0), 10),
        ((9000.0, 199.0), 10),
        ((200.0, 200.0), 20),
        ((9000.0, 150.0, 450.0, 450.0), 40),
        ((1e300, 1e300), 640),
    ],
)
def test_the_batch_grows_by_the_smaller_call_of_two_rows_in_powers_of_two(readings, size):
    assert decide(gns(10), 10, *readings).batch_size == size


@pytest.mark.parametrize(
    ("readings", "size"),
    [((200.0, 200.0), 20), ((90.0, 200.0), 20), ((40.0, 201.0), 40), ((0.0, 0.0), 10)],
)
def test_the_batch_shrinks_by_the_smaller_call_of_two_rows_but_not_below_the_base(readings, size):
    assert decide(gns(10), 40, *readings).batch_size == size


def test_the_batch_may_fall_below_the_base_where_that_is_said():
    assert decide(gns(40, smallest=10), 40, 150.0, 190.0).batch_size == 10
    assert decide(gns(40, smallest=10), 40, 200.0, 150.0).batch_size == 20
    assert decide(gns(40, smallest=15), 40, 0.0, 0.0).batch_size == 15


def test_one_reading_is_not_enough():
    decision = decide(gns(10), 10, 9000.0)
    assert decision[:2] == (10, "one row at 10 is too few to go by")
    assert decision.gauges == {"noise_scale": 9000.0, "wanted": 900.0}


@pytest.mark.parametrize(
    ("readings", "reason", "gauges"),
    [
        ((None,), "one row at 10 is too few to go by", {}),
        (
            *((None, 9000.0), "the noise scale could not be told in one of two rows: 10 stays"),
            {"noise_scale": 9000.0, "wanted": 900.0},
        ),
        ((9000.0, None), "the noise scale could not be told in one of two rows: 10 stays", {}),
        ((None, None), "the noise scale could not be told in both rows: 10 stays", {}),
    ],
)
def test_without_two_readings_the_size_stays_and_the_reason_says_so(readings, reason, gauges):
    decision = decide(gns(10), 10, *readings)
    assert decision[:2] == (10, reason)
    assert decision.gauges == gauges


def test_readings_at_another_size_do_not_count():
    seen = [Seen(size, 0, 1, 100, 0, 0, 1.0, noise_scale=9000.0) for size in (10, 20)]
    assert gns(10).next(seen, OUTLOOK).batch_size == 20


def test_the_largest_size_is_a_limit_whatever_is_wanted():
    assert decide(gns(10, largest=100), 10, 9000.0, 9000.0).batch_size == 100
    assert decide(gns(10, largest=100), 10, 900.0, 950.0).batch_size == 80
    stays = decide(gns(10, largest=100), 100, 9000.0, 9000.0)
    assert stays.batch_size == 100
    assert stays.reason.endswith("beyond twice 100, but 100 is the limit")


def test_the_reason_says_what_was_measured():
    reasons = [decide(gns(10), 40, *pair).reason for pair in ((90, 200), (300, 500), (900, 800))]
    assert reasons == [
        "0.1 x noise scale is 9 and 20 in two rows, below half of 40",
        "0.1 x noise scale is 30 and 50 in two rows: 40 stays within a factor of 2",
        "0.1 x noise scale is 90 and 80 in two rows, beyond twice 40",
    ]


def test_a_whole_run_follows_a_noise_that_rises_and_falls(follow, stairs):
    noise = [100] * 4 + [450] * 4 + [1700] * 4 + [100] * 4
    run = follow(gns(10), 16, lambda _, epoch: {"train_loss": 1.0, "noise_scale": noise[epoch]})
    assert stairs(run[0]) == [(10, 6), (40, 4), (160, 4), (10, 2)]
