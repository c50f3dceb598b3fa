import json
from dataclasses import dataclass

import pytest

from rebatch._amount import Examples, Tokens
from rebatch._course import Course, expected
from rebatch.errors import InputError
from rebatch.policies import Decision, Policy, plateau


@dataclass(frozen=True, repr=False)
class climbing(Policy):
    """Doubles twice, two epochs each, then starts over; an epoch only where it cannot measure."""

    needs_noise = True

    def completes(self, seen, outlook):
        return True

    def next(self, seen, outlook):
        top = seen[-1].step == 2
        size = self.base if top else 2 * seen[-1].batch_size
        epochs = 1 if seen[-1].noise_scale is None else 2
        return Decision(size, "as ever", epochs, ends_cycle=top, rate_factor=0.5 if top else 1.0)


def course(epochs=9, amount=None):
    return Course.begun(climbing(10), amount or Examples(100), epochs)


def grown(epochs=9):
    """10, 20, 40, 10 for 1, 2, 2, 2 epochs."""
    made, seen = course(epochs), []
    for _ in range(3):
        seen.append(made.seen(1.0, 7.0))
        made = made.decided(climbing(10).next(seen, made.outlook))
    return made


def test_a_course_begins_with_the_first_row():
    made = course()
    assert str(made.plan.schedule) == "CLIMBING"
    assert [(row.batch_size, row.epochs, row.updates) for row in made.plan.rows] == [(10, 1, 10)]
    assert (made.reason, made.is_whole) == ("training starts at the base", False)
    assert course(1).is_whole


def test_a_decision_adds_a_row_and_marks_the_one_before():
    rows = grown().plan.rows
    assert [(row.batch_size, row.first_epoch, row.epochs) for row in rows] == [
        *((10, 0, 1), (20, 1, 2), (40, 3, 2), (10, 5, 2))
    ]
    assert [(row.cycle, row.step, row.ends_cycle) for row in rows] == [
        *((0, 0, False), (0, 1, False), (0, 2, True), (1, 0, False))
    ]


def test_rows_of_one_size_are_one_step():
    made = course().decided(Decision(10, "")).decided(Decision(10, "", ends_cycle=True))
    made = made.decided(Decision(20, ""))
    places = [(row.cycle, row.step) for row in made.plan.rows]
    assert places == [(0, 0), (0, 0), (1, 0), (1, 1)]


def test_a_row_is_cut_at_the_end_of_the_budget():
    made = grown(epochs=6)
    assert (made.plan.rows[-1].epochs, made.is_whole) == (1, True)


def test_what_lies_ahead_is_told():
    outlook = grown().outlook
    assert (outlook.epochs, outlook.done, outlook.left, outlook.largest) == (9, 7, 2, 100)
    assert [outlook.updates_of(size) for size in (10, 30, 100)] == [10, 4, 1]
    text = course(amount=Tokens(101, 5)).outlook
    assert (text.largest, text.updates_of(50), text.updates_of(51)) == (50, 1, 0)


def test_a_finished_row_is_told_with_what_was_measured():
    seen = grown().seen(1.5, 80.0, None, 90.0)
    assert seen == (10, 5, 2, 20, 1, 0, 1.5, 80.0, None, 90.0)


def test_rates_are_those_of_the_row():
    made = grown()
    assert [made.rate_factor(update) for update in (0, 9, 25, 26, 45)] == [1, 1, 1, 0.5, 0.5]


def test_short_rows_are_measured_more_often():
    every = climbing(10, measure_every=20)
    long = Course.begun(every, Examples(10_000), 1)
    assert [update for update in range(100) if long.measures(update)] == [19, 39, 59, 79, 99]
    short = Course.begun(every, Examples(240), 1)
    assert [update for update in range(24) if short.measures(update)] == list(range(2, 24, 3))
    shortest = Course.begun(every, Examples(30), 1)
    assert [shortest.measures(update) for update in range(3)] == [True, True, True]


def test_nothing_is_measured_for_a_policy_that_does_not_look():
    class blind(climbing):
        needs_noise = False

    made = Course.begun(blind(10), Examples(100), 3)
    assert not any(made.measures(update) for update in range(10))


def test_a_course_passes_through_json():
    made = grown().closed()
    read = Course.from_dict(json.loads(json.dumps(made.to_dict())))
    assert read.to_dict() == made.to_dict()
    assert (read.plan, read.fingerprint) == (made.plan, made.fingerprint)


@pytest.mark.parametrize(
    "change",
    [
        {"plan": {}},
        {"decisions": []},
        {"decisions": [{"rate_factor": -1.0, "reason": "", "gauges": {}}]},
        {"epochs": 0},
        {"measure_every": "x"},
    ],
)
def test_what_no_run_has_recorded_is_refused(change):
    with pytest.raises(InputError, match=r"^(plan|epochs|measure_every|rate_factor) must "):
        Course.from_dict({**course().to_dict(), **change})


def test_the_fingerprint_tells_rates_and_ends_of_cycles_apart():
    made = grown()
    slower = made.decided(Decision(10, "", rate_factor=0.1))
    assert len({course().fingerprint, made.fingerprint, made.closed().fingerprint}) == 3
    assert slower.fingerprint != made.decided(Decision(10, "")).fingerprint


def test_what_to_expect_is_what_a_policy_does_that_can_measure_nothing():
    plan = expected(climbing(10), Examples(100), 5)
    assert [(row.batch_size, row.epochs) for row in plan.rows] == [
        *((10, 1), (20, 1), (40, 1), (10, 1), (20, 1))
    ]
    assert plan.cycle_ends == (3, 5)
    assert plan.notes == (
        "CLIMBING decides while it trains: rows and totals are an estimate, as if the loss fell "
        "and nothing else could be measured",
    )


def test_rows_of_one_step_are_expected_as_one():
    plan = expected(plateau(10), Examples(100), 5)
    assert [(row.batch_size, row.epochs, row.updates, row.samples) for row in plan.rows] == [
        (10, 5, 50, 500)
    ]


def test_a_batch_that_no_epoch_has_an_update_of_is_refused():
    class careless(climbing):
        def first(self, outlook):
            return Decision(2 * outlook.largest, "")

    whole_batches = Examples(100, drop_last=True)
    with pytest.raises(InputError, match=r"^batch size must leave at least one update .* got 200$"):
        Course.begun(careless(10), whole_batches, 1)
    with pytest.raises(InputError, match=r"^batch size must leave at least one update .* got 101$"):
        course(amount=whole_batches).decided(Decision(101, ""))
