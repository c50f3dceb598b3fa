import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rebatch import InputError, Schedule, rates
from rebatch.rates import (
    Rate,
    adabatch,
    beyond_largest,
    constant,
    cosine,
    coupled,
    divided,
    divided_every,
    equal_noise,
    parse_rate,
    plateau,
    triangular,
)
from rebatch.schedules import constant as constant_size
from rebatch.schedules import cyclical, from_function, milestones, parse, steps

NUMBERS = st.floats(1e-6, 1e6)
LENGTHS = st.integers(1, 50)


def _coupled(rules):
    return st.one_of(
        st.builds(coupled, rules, SCHEDULES, how=st.sampled_from(rates.COUPLINGS)),
        st.builds(equal_noise, rules, SCHEDULES),
        st.builds(beyond_largest, rules, GROWING),
    )


PLAIN = st.one_of(
    st.builds(constant, NUMBERS),
    st.builds(divided, NUMBERS, at=st.sampled_from([(), 5, (3, 7)]), by=NUMBERS),
    st.builds(divided_every, NUMBERS, after=st.integers(0, 9), by=st.floats(1, 2)),
    st.builds(cosine, NUMBERS, length=LENGTHS),
    st.builds(triangular, NUMBERS, NUMBERS, width=LENGTHS),
    st.builds(adabatch, NUMBERS, every=LENGTHS, decay=st.floats(0.1, 1)),
    st.builds(plateau, NUMBERS, by=NUMBERS, falling=st.booleans()),
)
SCHEDULES = st.from_type(Schedule).filter(lambda schedule: schedule.clock == "epochs")
GROWING = st.builds(steps, st.integers(1, 9), every=LENGTHS, largest=st.none() | st.just(99))
RATES = st.recursive(
    PLAIN,
    lambda rules: _coupled(rules.filter(lambda rule: not isinstance(rule, plateau))),
    max_leaves=3,
)
NAMES = {name: getattr(rates, name) for name in vars(rates)}


class TestEveryRule:
    @given(rule=RATES)
    def test_its_text_gives_it_back(self, rule):
        assert parse_rate(str(rule)) == rule
        assert eval(repr(rule), NAMES) == rule

    @given(rule=RATES)
    def test_it_survives_pickling_with_its_hash(self, rule):
        again = pickle.loads(pickle.dumps(rule))
        assert again == rule
        assert hash(again) == hash(rule)

    @given(rule=RATES)
    def test_a_rate_is_a_float_that_is_not_negative(self, rule):
        assert type(rule(0)) is float
        assert rule(0) >= 0

    @pytest.mark.parametrize("position", [-1, math.nan, math.inf, None, "1"])
    def test_a_position_that_is_none_is_refused(self, position):
        with pytest.raises(InputError, match="position must be a finite number of at least 0, got"):
            constant(0.1)(position)

    @pytest.mark.parametrize("rate", [0, -0.1, math.nan, math.inf, None, "0.1", True])
    @pytest.mark.parametrize(
        "rule",
        [
            constant,
            lambda rate: divided(rate, at=5, by=2),
            lambda rate: divided_every(rate, after=5, by=2),
            adabatch,
            plateau,
            lambda rate: cosine(rate, length=5),
        ],
    )
    def test_a_rate_that_is_none_is_refused(self, rule, rate):
        with pytest.raises(InputError) as caught:
            rule(rate)
        assert str(caught.value) == f"rate must be a finite number above 0, got {rate!r}"


class TestDivided:
    def test_the_rate_is_lower_from_the_epoch_on(self):
        rule = divided(0.02, at=(30, 60), by=5)
        assert [rule(e) for e in (0, 29, 29.99, 30, 59, 60, 89)] == [
            *(0.02, 0.02, 0.02, 0.004, 0.004, 0.0008, 0.0008)
        ]

    def test_one_epoch_needs_no_tuple(self):
        one, listed = divided(0.05, at=75, by=5), divided(0.05, at=[75], by=5)
        assert one == listed == divided(0.05, at=(75,), by=5)

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ({"at": (60, 30)}, "at must rise, got 30 after 60"),
            ({"at": 0}, "at must be a whole number of at least 1, got 0"),
            ({"by": 0}, "by must be a finite number above 0, got 0"),
        ],
    )
    def test_divisions_that_are_none_are_refused(self, arguments, message):
        with pytest.raises(InputError) as caught:
            divided(0.1, **{"at": (30, 60), "by": 5, **arguments})
        assert str(caught.value) == message


class TestDividedEvery:
    def test_the_first_lowered_epoch_is_the_one_after(self):
        rule = divided_every(20, after=6, by=1.25)
        assert [rule(epoch) for epoch in (0, 5, 5.9, 6, 7)] == [20, 20, 20, 16, 12.8]

    def test_the_last_epochs_of_the_language_models(self):
        assert divided_every(20, after=6, by=1.2)(38) == pytest.approx(0.049, abs=5e-4)
        assert divided_every(20, after=14, by=1.15)(54) == pytest.approx(0.065, abs=5e-4)

    def test_a_rate_too_small_for_a_float_is_0(self):
        assert divided_every(20, after=6, by=1.2)(10**6) == 0


class TestCosine:
    def test_the_rate_falls_and_starts_over(self):
        rule = cosine(0.2, length=30, low=0.1)
        assert [rule(epoch) for epoch in (0, 15, 30, 45)] == pytest.approx([0.2, 0.15, 0.2, 0.15])
        assert rule(29.999999) == pytest.approx(0.1)

    def test_a_low_above_the_rate_is_refused(self):
        with pytest.raises(InputError, match=r"low must be at most rate, which is 0\.1, got 0\.2"):
            cosine(0.1, length=5, low=0.2)


class TestTriangular:
    def test_the_rate_swings_in_straight_lines(self):
        rule = triangular(0.25, 0.75, width=2)
        assert [rule(epoch) for epoch in (0, 1, 2, 3, 4, 6)] == [0.25, 0.5, 0.75, 0.5, 0.25, 0.75]


class TestAdabatch:
    def test_the_rate_falls_less_than_the_batch_grows(self):
        assert [adabatch(0.5)(epoch) for epoch in (0, 19.9, 20, 40)] == [0.5, 0.5, 0.375, 0.28125]


class TestPlateau:
    @pytest.mark.parametrize(
        ("figures", "rate"),
        [([], 20), ([90, 85], 20), ([90, 90], 5), ([90, 85, 86, 85], 1.25), ([math.nan], 5)],
    )
    def test_the_rate_falls_with_every_figure_that_is_no_better(self, figures, rate):
        assert plateau(20, by=4).after(figures) == rate

    def test_an_accuracy_is_better_when_it_is_higher(self):
        assert plateau(8, by=2, falling=False).after([50, 60, 55]) == 4

    def test_a_position_past_0_does_not_tell_the_rate(self):
        assert plateau(20)(0) == 20
        with pytest.raises(InputError, match="position must be 0 with plateau, use after, got 3"):
            plateau(20)(3)


class TestCoupled:
    schedule = cyclical(10, width=1, growth=4)

    @pytest.mark.parametrize(
        ("how", "wanted"),
        [
            ("none", [0.5, 0.5, 0.5, 0.5, 0.5]),
            ("linear", [0.5, 2, 8, 32, 0.5]),
            ("sqrt", [0.5, 1, 2, 4, 0.5]),
        ],
    )
    def test_the_rate_follows_the_batch(self, how, wanted):
        rule = coupled(constant(0.5), self.schedule, how=how)
        assert [rule(epoch) for epoch in range(5)] == wanted

    def test_none_is_the_default_as_in_the_paper(self):
        assert coupled(constant(0.5), self.schedule)(3) == 0.5

    def test_the_rule_itself_may_change(self):
        rule = coupled(divided(0.5, at=2, by=2), self.schedule, how="linear")
        assert [rule(epoch) for epoch in range(3)] == [0.5, 2, 4]

    def test_another_coupling_is_refused(self):
        with pytest.raises(InputError, match="how must be one of none, linear, sqrt, got 'cubic'"):
            coupled(constant(0.5), self.schedule, how="cubic")

    @pytest.mark.parametrize(
        ("rule", "schedule", "message"),
        [
            (0.1, constant_size(8), "rule must be a learning-rate rule, got 0.1"),
            (
                plateau(0.1),
                constant_size(8),
                "rule must be one that the position tells, got plateau(0.1)",
            ),
            (constant(0.1), "CBS-5", "schedule must be a schedule, got 'CBS-5'"),
            (
                constant(0.1),
                constant_size(8, clock="updates"),
                "schedule must count epochs, got the clock 'updates'",
            ),
        ],
    )
    def test_partners_that_do_not_fit_are_refused(self, rule, schedule, message):
        with pytest.raises(InputError) as caught:
            coupled(rule, schedule)
        assert str(caught.value) == message


class TestEqualNoise:
    def test_rate_over_base_is_at_every_epoch_that_of_the_schedule(self):
        schedule = cyclical(10, width=1)
        rule = equal_noise(constant(0.8), schedule)
        assert [rule(epoch) for epoch in range(5)] == [0.8, 0.4, 0.2, 0.1, 0.8]
        assert all(rule(e) / 10 == 0.8 / schedule(e) for e in range(5))


class TestBeyondLargest:
    def test_the_rate_falls_where_the_batch_cannot_grow(self):
        schedule = milestones(128, at=(60, 120, 160), factor=5, largest=3200)
        rule = beyond_largest(constant(0.1), schedule)
        assert [rule(epoch) for epoch in (0, 60, 120, 160)] == [0.1, 0.1, 0.1, 0.02]

    def test_a_largest_size_between_two_steps_is_made_up_for(self):
        rule = beyond_largest(constant(0.8), steps(10, every=1, largest=30))
        assert [rule(epoch) for epoch in range(4)] == [0.8, 0.8, 0.8 * 3 / 4, 0.8 * 3 / 8]

    def test_sizes_that_were_only_rounded_change_nothing(self):
        rule = beyond_largest(constant(0.1), steps(3, every=1, factor=1.5, largest=100))
        assert [rule(epoch) for epoch in range(3)] == [0.1, 0.1, 0.1]

    def test_without_a_largest_size_the_rate_stays(self):
        assert beyond_largest(constant(0.1), steps(3, every=1))(2000) == 0.1

    def test_growth_past_all_floats_ends_at_0(self):
        assert beyond_largest(constant(0.1), steps(3, every=1, factor=2.5, largest=9))(9999) == 0

    def test_other_schedules_are_refused(self):
        with pytest.raises(InputError, match="schedule must be milestones or steps, got cyclical"):
            beyond_largest(constant(0.1), cyclical(10, width=5))


class TestText:
    def test_a_schedule_inside_a_rule_keeps_its_own_names(self):
        rule = equal_noise(constant(0.1), constant_size(8))
        assert repr(rule) == "equal_noise(constant(0.1), parse('constant(8)'))"
        assert parse_rate(repr(rule)) == rule

    def test_a_code_of_the_paper_may_stand_inside(self):
        rule = parse_rate("equal_noise(constant(0.8), parse('CBS-1', 10))")
        assert rule == equal_noise(constant(0.8), parse("CBS-1", 10))

    @pytest.mark.parametrize(("text", "rate"), [("0.1", 0.1), (" 20 ", 20), ("2e-3", 0.002)])
    def test_a_number_is_a_constant_rate(self, text, rate):
        assert parse_rate(text) == constant(rate)

    def test_a_schedule_of_a_function_has_no_text_to_read(self):
        rule = coupled(constant(0.1), from_function(lambda epoch: 8))
        with pytest.raises(InputError):
            parse_rate(repr(rule))

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("", "rate must be a number or a call such as divided("),
            ("-1", "rate must be a finite number above 0, got -1"),
            ("0", "rate must be a finite number above 0, got 0"),
            ("True", "rate must be a finite number above 0, got True"),
            ("fast", "rate must be a number or a call such as divided("),
            ("'x'", "rate must be a number or a call such as divided("),
            ("parse('CBS-5', 10)", "rate must be a number or a call such as divided("),
            ("divided(0.1, at=(3, 2), by=5)", "at must rise, got 2 after 3"),
            ("constant(0.1, 0.2)", "rate must be a number or a call such as divided("),
            (None, "rate must be a number or a call such as divided("),
        ],
    )
    def test_what_is_no_rule_is_refused(self, text, message):
        with pytest.raises(InputError) as caught:
            parse_rate(text)
        assert str(caught.value).startswith(message)

    @given(text=st.text())
    def test_any_text_gives_a_rule_or_an_input_error(self, text):
        try:
            rule = parse_rate(text)
        except InputError:
            return
        assert isinstance(rule, Rate)


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        (divided(np.float32(0.5), at=np.int64(3), by=np.int64(2)), "divided(0.5, at=(3,), by=2)"),
        (cosine(np.float64(0.5), length=np.int64(30)), "cosine(0.5, length=30)"),
    ],
)
def test_a_rule_of_numbers_of_numpy_prints_as_text_that_reads_back(rule, text):
    assert repr(rule) == text
    assert parse_rate(repr(rule)) == rule
