import copy
import json
import pickle
from dataclasses import astuple, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rebatch
from rebatch import InputError, Plan, constant, cyclical, plan
from rebatch._plan import Portion
from rebatch._run import Place

STAIRS = plan(cyclical(10, width=4, steps=2, clock="updates"), epochs=2, examples=105)


class TestPlaces:
    @given(made=st.from_type(Plan), data=st.data())
    def test_an_update_and_its_first_sample_are_inverse(self, made, data):
        update = data.draw(st.integers(0, made.updates - 1))
        assert made.update_at(made.sample_at(update)) == update

    @given(made=st.from_type(Plan), data=st.data())
    def test_every_sample_lies_in_the_update_that_uses_it(self, made, data):
        sample = data.draw(st.integers(0, made.samples - 1))
        update = made.update_at(sample)
        assert made.sample_at(update) <= sample < made.sample_at(update + 1)

    @given(made=st.from_type(Plan), data=st.data())
    def test_an_update_lies_in_its_epoch(self, made, data):
        update = data.draw(st.integers(0, made.updates - 1))
        epoch, done = made.epoch_at(update)
        assert made.first_update_of(epoch) + done == update
        assert 0 <= done < made.updates_in(epoch)

    def test_places_of_a_plan_that_changes_inside_epochs(self):
        assert [STAIRS.sample_at(u) for u in (0, 4, 7, 8, 9)] == [0, 40, 100, 105, 115]
        assert [STAIRS.update_at(s) for s in (0, 39, 40, 99, 100, 104, 105)] == [
            *(0, 3, 4, 6, 7, 7, 8)
        ]
        assert [STAIRS.epoch_at(u) for u in (0, 7, 8, 12)] == [(0, 0), (0, 7), (1, 0), (1, 4)]

    def test_the_end_is_a_place_too(self):
        assert STAIRS.sample_at(STAIRS.updates) == 210
        assert STAIRS.epoch_at(STAIRS.updates) == (2, 0)
        assert STAIRS.first_update_of(2) == STAIRS.updates
        assert STAIRS.end == Place(2, 0, 16, 210)

    def test_a_plan_that_ends_inside_an_epoch_is_in_that_epoch(self):
        made = plan(constant(10), updates=13, examples=100)
        assert made.epoch_at(13) == (1, 3)
        assert made.first_update_of(2) == 13

    def test_offsets_are_exact_where_epochs_as_floats_are_not(self):
        count = 2**53 - 1
        schedule = rebatch.square_wave(3, 5, width=7, clock="updates")
        made = plan(schedule, updates=100, examples=count)
        assert made.sample_at(99) == 7 * (3 + 5) * 7 + 3
        assert [portion.offset for portion in made.portions(0)][-1] == 7 * (3 + 5) * 7

    @pytest.mark.parametrize(
        ("ask", "value", "message"),
        [
            ("row_at", 16, "update must be from 0 to 15, got 16"),
            ("sample_at", 17, "update must be from 0 to 15, got 17"),
            ("update_at", 210, "sample must be from 0 to 209, got 210"),
            ("portions", 2, "epoch must be from 0 to 1, got 2"),
            ("batch_size_at", -1, "update must be from 0 to 15, got -1"),
            ("batch_size_at", 1.5, "update must be from 0 to 15, got 1.5"),
        ],
    )
    def test_what_lies_outside_the_plan_is_refused(self, ask, value, message):
        with pytest.raises(InputError) as caught:
            getattr(STAIRS, ask)(value)
        assert str(caught.value) == message


class TestPortions:
    def test_they_follow_each_other_through_an_epoch(self):
        assert STAIRS.portions(0) == (
            Portion(0, first_update=0, updates=4, offset=0, length=40, batch_size=10, row=0),
            Portion(0, first_update=4, updates=4, offset=40, length=65, batch_size=20, row=1),
        )

    def test_one_without_an_update_covers_what_is_left_out(self):
        schedule = rebatch.square_wave(10, 20, width=9, clock="updates")
        made = plan(schedule, epochs=2, examples=105, drop_last=True)
        assert made.portions(0)[1] == Portion(0, 9, 0, 90, 15, 20, row=1)
        assert made.portions(1) == (Portion(1, 9, 5, 0, 105, 20, row=1),)

    @given(made=st.from_type(Plan))
    def test_they_tile_every_epoch_and_agree_with_the_rows(self, made):
        whole, rest = made.end.epoch, made.end.offset
        updates = dict.fromkeys(range(len(made.rows)), 0)
        number = covered = 0
        for epoch in range(whole + (rest > 0)):
            offset = 0
            for portion in made.portions(epoch):
                assert (portion.epoch, portion.offset) == (epoch, offset)
                assert portion.first_update == number
                assert portion.batch_size == made.rows[portion.row].batch_size
                assert portion.length > 0
                updates[portion.row] += portion.updates
                number, offset = number + portion.updates, offset + portion.length
            assert offset == (made.examples if epoch < whole else rest)
            covered += offset
        assert list(updates.values()) == [row.updates for row in made.rows]
        assert made.samples + made.left_out == covered

    @given(made=st.from_type(Plan))
    def test_their_lengths_hold_the_samples_of_their_updates(self, made):
        for epoch in range(made.end.epoch):
            for portion in made.portions(epoch):
                assert made.amount.updates(portion.length, portion.batch_size) == portion.updates
                first, last = portion.first_update, portion.first_update + portion.updates
                delivered = made.amount.delivered(portion.length, portion.batch_size)
                assert made.sample_at(last) - made.sample_at(first) == delivered


class TestRows:
    @given(made=st.from_type(Plan))
    def test_each_starts_where_the_one_before_ends(self, made):
        update = sample = 0
        epoch = 0.0
        for row in made.rows:
            assert (row.first_update, row.first_sample) == (update, sample)
            assert row.first_epoch == pytest.approx(epoch)
            update, sample = update + row.updates, sample + row.samples
            epoch = row.last_epoch
        assert (made.updates, made.samples) == (update, sample)
        assert made.epochs == pytest.approx(epoch)

    @given(made=st.from_type(Plan))
    def test_steps_count_the_rows_of_a_cycle(self, made):
        for before, row in zip(made.rows, made.rows[1:], strict=False):
            assert row.step == (before.step + 1 if row.cycle == before.cycle else 0)
            assert row.cycle > before.cycle or not before.ends_cycle

    def test_the_last_epoch_is_whole_where_it_is(self):
        assert [row.last_epoch for row in STAIRS.rows][-1] == 2
        assert isinstance(STAIRS.rows[-1].last_epoch, int)

    def test_sizes_are_sorted_and_told_once(self):
        assert STAIRS.sizes == (10, 20)


class TestExtend:
    def test_a_plan_grows_by_the_row_that_a_policy_decides(self):
        made = plan(constant(10), epochs=1, examples=100)
        longer = made.extend(made.next_row(20, epochs=2))
        assert [(row.first_epoch, row.updates, row.step) for row in longer.rows] == [
            (0, 10, 0),
            (1, 10, 1),
        ]
        assert (longer.updates, longer.epochs, made.updates) == (20, 3, 10)

    def test_a_row_may_be_counted_in_updates_and_end_a_cycle(self):
        made = plan(constant(10), epochs=1, examples=100)
        made = made.extend(made.next_row(30, updates=2, ends_cycle=True))
        made = made.extend(made.next_row(50))
        assert [(row.cycle, row.step) for row in made.rows] == [(0, 0), (0, 1), (1, 0)]
        assert (made.cycle_ends, made.epochs, made.updates) == ((1.6,), 2, 13)

    @given(made=st.from_type(Plan))
    def test_a_plan_made_row_by_row_is_the_plan(self, made):
        grown = replace(made, rows=made.rows[:1])
        for row in made.rows[1:]:
            grown = grown.extend(row)
        assert grown == made

    def test_a_row_that_starts_elsewhere_is_refused(self):
        made = plan(constant(10), epochs=1, examples=100)
        row = replace(made.next_row(20), first_update=11)
        with pytest.raises(InputError, match="row must go on where the plan ends, at Place"):
            made.extend(row)

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ((0,), "batch_size must be a whole number of at least 1, got 0"),
            ((101,), "batch size must leave at least one update in an epoch of 100 samples, got"),
        ],
    )
    def test_a_row_that_no_batch_fits_is_refused(self, arguments, message):
        made = plan(constant(10), epochs=1, examples=100, drop_last=True)
        with pytest.raises(InputError, match=message):
            made.next_row(*arguments)


class TestFingerprint:
    def test_it_is_the_same_for_the_same_cut(self):
        again = plan(cyclical(10, width=4, steps=2, clock="updates"), epochs=2, examples=105)
        assert again.fingerprint == STAIRS.fingerprint

    @pytest.mark.parametrize(
        "other",
        [
            plan(constant(10), epochs=3, examples=100, drop_last=True),
            plan(constant(10), epochs=3, examples=101),
            plan(constant(11), epochs=3, examples=100),
            plan(constant(10), epochs=4, examples=100),
            plan(constant(10), epochs=3, tokens=100, bptt=2),
        ],
    )
    def test_it_tells_other_cuts_apart(self, other):
        assert other.fingerprint != plan(constant(10), epochs=3, examples=100).fingerprint


class TestJson:
    @given(made=st.from_type(Plan))
    def test_a_plan_comes_back_from_its_text(self, made):
        again = Plan.from_json(made.to_json())
        assert again == made
        assert again.to_json() == made.to_json()

    @given(made=st.from_type(Plan))
    def test_a_plan_comes_back_from_a_pickle(self, made):
        assert made.epochs >= 0  # places are kept once they are asked for
        assert pickle.loads(pickle.dumps(made)) == made

    def test_its_fields(self):
        made = plan(cyclical(10, width=2, steps=2), epochs=3, examples=105)
        assert made.to_dict() == {
            "schedule": "CBS-2-2",
            "base": 10,
            "clock": "epochs",
            "epochs": 3,
            "updates": 28,
            "samples": 315,
            "left_out": 0,
            "cycle_ends": [],
            "data": {"kind": "examples", "count": 105, "drop_last": False},
            "notes": [],
            "rows": [
                {
                    **{"first_epoch": 0, "epochs": 2, "first_update": 0, "updates": 22},
                    **{"first_sample": 0, "samples": 210, "batch_size": 10, "cycle": 0},
                    **{"step": 0, "ends_cycle": False},
                },
                {
                    **{"first_epoch": 2, "epochs": 1, "first_update": 22, "updates": 6},
                    **{"first_sample": 210, "samples": 105, "batch_size": 20, "cycle": 0},
                    **{"step": 1, "ends_cycle": False},
                },
            ],
        }

    @pytest.mark.parametrize(
        "text",
        [
            "",
            "{",
            "null",
            "5",
            "[]",
            "{}",
            '"plan"',
            "[" * 100_000,
            '{"data": 5}',
            "NaN",
            "1" * 9999,
        ],
    )
    def test_what_is_no_plan_is_refused(self, text):
        with pytest.raises(InputError, match="plan must be JSON written by to_json, got "):
            Plan.from_json(text)

    @pytest.mark.parametrize(
        ("text", "said"), [("{}", "one without 'data'"), ('{"data": 5}', "one of another form")]
    )
    def test_the_complaint_is_in_words(self, text, said):
        with pytest.raises(InputError, match=f"got {said}$"):
            Plan.from_json(text)

    @pytest.mark.parametrize("text", [None, 5, []])
    def test_what_is_no_text_is_refused(self, text):
        with pytest.raises(InputError, match="plan must be JSON written by to_json, got "):
            Plan.from_json(text)

    @given(
        made=st.from_type(Plan),
        path=st.lists(st.integers(0, 30), min_size=1, max_size=4),
        value=st.sampled_from(
            [None, -1, 0, 1, 2.5, True, "x", [], {}, 10**30, 1e400, float("nan"), "examples"]
        ),
    )
    def test_a_plan_with_one_value_changed_is_refused_or_cut_alike(self, made, path, value):
        data = copy.deepcopy(made.to_dict())
        spot, key = data, None
        for number in path:
            keys = list(spot) if isinstance(spot, dict) else range(len(spot))
            if not keys:
                return
            holder, key = spot, keys[number % len(keys)]
            spot = holder[key]
            if not isinstance(spot, dict | list):
                break
        holder[key] = value
        try:
            again = Plan.from_json(json.dumps(data))
        except InputError:
            return
        assert again.to_dict() == data
        assert [row.updates for row in again.rows] == [row.updates for row in made.rows]


def test_numbers_of_numpy_make_the_same_plan():
    made = plan(cyclical(10, width=1), epochs=np.int64(4), examples=np.int64(100))
    assert made.to_json() == plan(cyclical(10, width=1), epochs=4, examples=100).to_json()


def test_an_answer_to_a_number_of_numpy_is_one_of_python():
    made = plan(cyclical(10, width=1), epochs=4, examples=100)
    answers = [
        *made.epoch_at(np.uint8(12)),
        *made.place_at(np.uint8(12)),
        *astuple(made.portions(np.uint8(1))[0]),
        made.updates_in(np.uint8(1)),
        made.first_update_of(np.uint8(1)),
        made.sample_at(np.uint8(12)),
        made.update_at(np.uint8(140)),
    ]
    assert {type(answer) for answer in answers} == {int}
    assert answers == [1, 2, 1, 40, 12, 140, 1, 10, 5, 0, 100, 20, 1, 5, 10, 140, 12]


def test_a_place_outside_is_told_without_the_library_it_came_from():
    made = plan(constant(10), epochs=4, examples=100)
    with pytest.raises(InputError, match=r"^epoch must be from 0 to 3, got 4$"):
        made.portions(np.int64(4))
