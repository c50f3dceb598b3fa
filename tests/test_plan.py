import math
from typing import Any

import pytest

import rebatch
from rebatch import InputError, Row, baseline, constant, cyclical, from_function, plan

PTB = {"tokens": 929_589, "bptt": 35}


def cuts(made: rebatch.Plan) -> list[tuple[float, float, int, int]]:
    return [(row.first_epoch, row.epochs, row.batch_size, row.updates) for row in made.rows]


class TestNumbersOfTheReadme:
    def test_cbs_10_on_penn_treebank(self):
        made = plan(rebatch.parse("CBS-10", base=10), epochs=39, **PTB)
        assert made.updates == 49468

    def test_cbs_5_3_a_on_cifar(self):
        made = plan(rebatch.parse("CBS-5-3-A", base=128), epochs=90, examples=50_000)
        assert made.updates == 15420

    def test_the_names_that_stay_fixed(self):
        schedule = rebatch.parse("CBS-10-3-A", base=128)
        made = plan(schedule, epochs=90, examples=50_000, drop_last=False)
        assert schedule == cyclical(128, width=10, steps=3, growth=4)
        assert (made.updates, made.cycle_ends) == (15420, (30, 60, 90))


class TestEpochs:
    def test_a_row_is_a_step_of_a_cycle(self):
        made = plan(cyclical(10, width=2, steps=2), epochs=5, examples=105)
        assert made.rows == (
            Row(0, 2, 0, 22, 0, 210, 10, cycle=0, step=0, ends_cycle=False),
            Row(2, 2, 22, 12, 210, 210, 20, cycle=0, step=1, ends_cycle=True),
            Row(4, 1, 34, 11, 420, 105, 10, cycle=1, step=0, ends_cycle=False),
        )
        assert made.cycle_ends == (4,)
        assert (made.updates, made.samples, made.epochs, made.left_out) == (45, 525, 5, 0)

    def test_drop_last_leaves_out_the_short_batch_of_every_epoch(self):
        made = plan(cyclical(10, width=2, steps=2), epochs=5, examples=105, drop_last=True)
        assert [row.updates for row in made.rows] == [20, 10, 10]
        assert (made.samples, made.left_out) == (500, 25)

    def test_the_baseline_is_one_cycle_without_an_end(self):
        made = plan(constant(10), epochs=5, examples=105)
        assert made.rows == (Row(0, 5, 0, 55, 0, 525, 10, 0, 0, ends_cycle=False),)
        assert made.cycle_ends == ()

    def test_a_batch_above_the_data_stays_in_its_row_and_gives_one_update_an_epoch(self):
        made = plan(cyclical(40, width=2, steps=2), epochs=4, examples=50)
        assert cuts(made) == [(0, 2, 40, 4), (2, 2, 80, 2)]
        assert made.samples == 200

    def test_a_smooth_schedule_has_a_row_for_every_size(self):
        made = plan(rebatch.linear(10, 12, length=4), epochs=6, examples=100)
        assert cuts(made) == [(0, 2, 10, 20), (2, 1, 11, 10), (3, 3, 12, 27)]
        assert [row.step for row in made.rows] == [0, 1, 2]

    def test_a_cap_keeps_the_steps_of_a_cycle_apart(self):
        made = plan(rebatch.clamp(cyclical(10, width=1), high=20), epochs=5, examples=100)
        assert [row.batch_size for row in made.rows] == [10, 20, 20, 20, 10]
        assert [row.ends_cycle for row in made.rows] == [False, False, False, True, False]

    def test_a_length_in_updates_may_end_inside_an_epoch(self):
        made = plan(cyclical(10, width=1), updates=13, examples=100)
        assert cuts(made) == [(0, 1, 10, 10), (1, 0.6000000000000001, 20, 3)]
        assert (made.epochs, made.samples, made.left_out) == (1.6, 160, 0)

    def test_a_length_in_samples_ends_with_the_update_that_reaches_it(self):
        made = plan(cyclical(10, width=1), samples=121, examples=100)
        assert (made.updates, made.samples) == (12, 140)
        assert plan(cyclical(10, width=1), samples=120, examples=100).updates == 11


class TestUpdates:
    def test_rows_start_and_end_inside_epochs(self):
        made = plan(cyclical(10, width=4, steps=2, clock="updates"), epochs=2, examples=100)
        assert [row.first_epoch for row in made.rows] == [0, 0.4, 1.2, 1.6]
        assert [row.last_epoch for row in made.rows] == [0.4, 1.2, 1.6, 2]
        assert [row.batch_size for row in made.rows] == [10, 20, 10, 20]
        assert [row.updates for row in made.rows] == [4, 4, 4, 2]
        assert [row.first_sample for row in made.rows] == [0, 40, 120, 160]

    def test_a_remainder_too_short_for_the_new_size_is_left_out(self):
        schedule = rebatch.square_wave(10, 20, width=9, clock="updates")
        made = plan(schedule, epochs=2, examples=105, drop_last=True)
        assert [(row.first_epoch, row.updates, row.samples) for row in made.rows] == [
            (0, 9, 90),
            (90 / 105, 5, 100),
        ]
        assert (made.epochs, made.left_out) == (2, 20)

    def test_training_may_end_with_a_row_that_has_nothing_to_cut(self):
        schedule = rebatch.square_wave(10, 20, width=9, clock="updates")
        made = plan(schedule, epochs=1, examples=105, drop_last=True)
        assert [row.updates for row in made.rows] == [9, 0]
        assert (made.updates, made.epochs, made.left_out) == (9, 1, 15)

    def test_tokens_are_cut_as_one_stretch_however_often_the_size_is_read(self):
        read_once = plan(constant(5, clock="updates"), updates=50, tokens=10_000, bptt=10)
        read_often = plan(
            from_function(lambda update: 5, clock="updates"), updates=50, tokens=10_000, bptt=10
        )
        assert read_often.rows == read_once.rows
        assert read_once.left_out == 5

    def test_a_hundred_thousand_sizes_take_little_time(self):
        schedule = rebatch.linear(1, 1000, length=100_000, clock="updates")
        made = plan(schedule, updates=100_000, examples=50_000)
        assert (made.updates, len(made.rows), made.sizes[-1]) == (100_000, 1000, 1000)


class TestSamplesAndTokens:
    def test_a_size_changes_with_the_first_update_past_its_threshold(self):
        made = plan(rebatch.parse("0:30 100:50"), epochs=2, examples=200)
        assert [(row.first_sample, row.batch_size, row.updates) for row in made.rows] == [
            (0, 30, 4),
            (120, 50, 2 + 4),
        ]

    def test_tokens_of_examples_are_counted_by_their_length(self):
        schedule = rebatch.parse("0:4 64:8", clock="tokens")
        made = plan(schedule, samples=32, tokens_per_example=8)
        assert [(row.first_sample, row.batch_size, row.updates) for row in made.rows] == [
            (0, 4, 2),
            (8, 8, 3),
        ]

    def test_a_stream_without_examples_is_one_epoch(self):
        made = plan(rebatch.parse("0:10 50:20"), samples=105)
        assert [row.updates for row in made.rows] == [5, 3]
        assert (made.examples, made.epochs, made.samples, made.left_out) == (105, 1, 105, 0)

    def test_a_stream_drops_its_short_last_batch_once(self):
        made = plan(constant(10), samples=105, drop_last=True)
        assert (made.updates, made.samples, made.left_out, made.epochs) == (10, 100, 5, 1)

    def test_a_stream_counted_in_updates_is_as_long_as_they_are(self):
        made = plan(rebatch.parse("0:10 50:20"), updates=8)
        assert (made.examples, made.epochs, made.samples) == (110, 1, 110)
        assert [row.first_epoch for row in made.rows] == [0, 50 / 110]

    def test_pre_training_of_trillions_of_tokens(self):
        schedule = rebatch.parse("0:768 250B:1536 500B:3072", clock="tokens")
        made = plan(schedule, samples=15 * 10**12 // 4096, tokens_per_example=4096)
        assert [row.first_sample for row in made.rows] == [0, 61035264, 122071296]
        assert made.samples == 3662109375
        for update in (0, 1, 79471, 79472, made.updates - 1):
            assert made.update_at(made.sample_at(update)) == update


class TestNotes:
    def test_a_width_longer_than_training_is_noted(self):
        made = plan(cyclical(10, width=50), epochs=30, examples=100)
        assert made.notes == (
            "the first step lasts 50 epochs, longer than training: the batch size never changes",
        )

    def test_a_width_as_long_as_training_is_not(self):
        assert plan(cyclical(10, width=30), epochs=30, examples=100).notes == ()
        assert plan(constant(10), epochs=30, examples=100).notes == ()

    def test_epochs_without_an_update_are_noted_once(self):
        made = plan(cyclical(40, width=1, steps=2), epochs=6, examples=50, drop_last=True)
        assert [row.updates for row in made.rows] == [1, 0, 1, 0, 1, 0]
        assert made.notes == ("batch size 80 gives no update in an epoch of 50 samples",)
        assert (made.left_out, made.cycle_ends) == (180, (2, 4, 6))
        assert [made.updates_in(epoch) for epoch in range(6)] == [1, 0, 1, 0, 1, 0]

    def test_a_batch_larger_than_the_data_is_noted(self):
        made = plan(cyclical(40, width=1, steps=2), epochs=2, examples=50)
        assert made.notes == ("batch size 80 is more than an epoch has: one update takes all 50",)


class TestBaseline:
    def test_it_has_the_same_length_in_epochs(self):
        made = plan(cyclical(10, width=1), epochs=8, examples=100)
        assert baseline(made).updates == 80
        assert made.saved(baseline(made)) == 0.5

    def test_it_may_have_a_size_of_its_own(self):
        made = plan(rebatch.parse("CBS-10", base=10), epochs=39, **PTB)
        assert baseline(made, 20).updates == 51792

    def test_it_ends_inside_an_epoch_where_the_plan_does(self):
        made = plan(cyclical(10, width=1), updates=13, examples=100)
        assert baseline(made).updates == 16

    def test_a_size_above_the_data_is_refused_with_drop_last(self):
        made = plan(constant(10), epochs=2, examples=50, drop_last=True)
        with pytest.raises(InputError, match="batch size must leave at least one update in an "):
            baseline(made, 51)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"epochs": 0}, "epochs must be a whole number of at least 1, got 0"),
        ({"epochs": 2.5}, "epochs must be a whole number of at least 1, got 2.5"),
        ({"epochs": -1}, "epochs must be a whole number of at least 1, got -1"),
        ({"updates": math.nan}, "updates must be a whole number of at least 1, got nan"),
        ({"samples": True}, "samples must be a whole number of at least 1, got True"),
        ({}, "length must be one of epochs, updates and samples, got none"),
        ({"epochs": 3, "drop_last": "no"}, "drop_last must be True or False, got 'no'"),
        (
            {"epochs": 3, "updates": 5},
            "length must be one of epochs, updates and samples, got epochs, updates",
        ),
        (
            {"epochs": 3, "examples": 0},
            "examples must be a whole number of at least 1, got 0",
        ),
        (
            {"epochs": 3, "examples": None},
            "examples must be given where epochs are counted, got none",
        ),
        (
            {"epochs": 3, "tokens": 50, "bptt": 5},
            "examples must not be given together with tokens, got both",
        ),
        (
            {"epochs": 3, "examples": None, "tokens": 50},
            "bptt must be given with tokens, got none",
        ),
        (
            {"epochs": 3, "bptt": 5},
            "tokens must be given with bptt, got none",
        ),
        (
            {"epochs": 3, "examples": None, "tokens": 1, "bptt": 5},
            "tokens must be a whole number of at least 2, got 1",
        ),
        (
            {"epochs": 3, "examples": None, "tokens": 50, "bptt": 0},
            "bptt must be a whole number of at least 1, got 0",
        ),
        (
            {"epochs": 3, "examples": None, "tokens": 50, "bptt": 5, "drop_last": True},
            "drop_last must not be given with tokens, got True",
        ),
        (
            {"epochs": 3, "examples": None, "tokens": 15, "bptt": 5},
            "batch size must leave at least one update in an epoch of 15 samples, got 10",
        ),
        (
            {"epochs": 3, "examples": 9, "drop_last": True},
            "batch size must leave at least one update in an epoch of 9 samples, got 10",
        ),
        (
            {"updates": 3, "examples": 9, "drop_last": True},
            "batch size must leave at least one update in an epoch of 9 samples, got 10",
        ),
        (
            {"schedule": constant(10, clock="tokens"), "epochs": 3},
            "tokens_per_example must be given for a schedule that counts tokens, got none",
        ),
        (
            {"schedule": cyclical(10, width=5), "updates": 3, "examples": None},
            "examples must be given where epochs are counted, got none",
        ),
        (
            {
                "schedule": rebatch.exponential(1, factor=2, clock="updates"),
                "updates": 60,
                "examples": None,
            },
            "samples must be at most 2**53, got 72057594037927935",
        ),
        (
            {"schedule": "CBS-5", "epochs": 3},
            "schedule must be a schedule, use rebatch.parse for text, got 'CBS-5'",
        ),
        (
            {"schedule": rebatch.auto(10), "epochs": 3},
            "schedule must be a schedule: a policy decides while it trains, `rebatch plan` shows "
            "an example, got auto(10)",
        ),
    ],
)
def test_arguments_that_make_no_plan_are_refused(arguments, message):
    given_arguments: dict[str, Any] = {"schedule": constant(10), "examples": 100, **arguments}
    with pytest.raises(InputError) as caught:
        plan(**given_arguments)
    assert str(caught.value) == message


def test_a_plan_without_end_of_rows_is_refused(monkeypatch):
    monkeypatch.setattr(rebatch._plan, "MOST_ROWS", 100)
    with pytest.raises(InputError, match="schedule must change at most 100 times, got CBS-1"):
        plan(cyclical(10, width=1), epochs=10**12, examples=10)
