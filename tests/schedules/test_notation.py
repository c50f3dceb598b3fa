import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rebatch import InputError, clamp, constant, cyclical, join, parse, thresholds
from rebatch.policies import Policy, absa, auto, gns, plateau
from rebatch.schedules import adabatch, linear, milestones, multiple_of, repeat, steps, triangular
from rebatch.schedules._notation import _COMBINATORS, _SHAPES

FORM = "schedule must be BL, CBS-k[-n][-A|-T], or AUTO, ABSA, GNS or PLATEAU, got "
CALL = "schedule must be a call such as linear(8, 64, length=5), got "
WORDS = (
    "schedule must be words of the form threshold:size, as in '0:768 250B:1536' "
    "(K, M, B, T allowed), got "
)


class TestCodes:
    @pytest.mark.parametrize(
        ("text", "schedule"),
        [
            ("BL", constant(10)),
            ("CBS-5", cyclical(10, width=5)),
            ("CBS-5-3", cyclical(10, width=5, steps=3)),
            ("CBS-5-4", cyclical(10, width=5)),
            ("CBS-10-A", cyclical(10, width=10, growth=4)),
            ("CBS-10-3-A", cyclical(10, width=10, steps=3, growth=4)),
            ("CBS-1-T", triangular(10, width=1)),
            ("CBS-15-2-T", triangular(10, width=15, steps=2)),
            ("  cbs-5-t ", triangular(10, width=5)),
        ],
    )
    def test_a_code_of_the_paper_is_read(self, text, schedule):
        assert parse(text, 10) == schedule

    def test_a_code_may_count_another_clock(self):
        assert parse("CBS-5", 10, clock="updates") == cyclical(10, width=5, clock="updates")

    @pytest.mark.parametrize(
        ("text", "why"),
        [
            ("", "at character 1, '' is none of them"),
            ("CSB-5", "at character 1, 'CSB' is none of them"),
            ("CBS5", "at character 1, 'CBS5' is none of them"),
            ("BL-5", "at character 4, nothing may follow BL"),
            (
                "CBS",
                "at character 5, a width in epochs must be a whole number of at least 1, "
                "not nothing",
            ),
            (
                "CBS-0",
                "at character 5, a width in epochs must be a whole number of at least 1, not '0'",
            ),
            (
                "CBS--5",
                "at character 5, a width in epochs must be a whole number of at least 1, "
                "not nothing",
            ),
            (
                "CBS-2.5",
                "at character 5, a width in epochs must be a whole number of at least 1, not '2.5'",
            ),
            (
                "CBS-A",
                "at character 5, a width in epochs must be a whole number of at least 1, not 'A'",
            ),
            (
                "CBS-5-",
                "at character 7, a number of steps must be a whole number of at least 2, "
                "not nothing",
            ),
            (
                "CBS-5-1",
                "at character 7, a number of steps must be a whole number of at least 2, not '1'",
            ),
            (
                "CBS-5-B",
                "at character 7, a number of steps must be a whole number of at least 2, not 'B'",
            ),
            ("CBS-5-3-B", "at character 9, 'B' is neither A nor T"),
            ("CBS-5-3-", "at character 9, '' is neither A nor T"),
            ("CBS-5-A-T", "at character 9, nothing may follow -A"),
            ("CBS-5-3-T-3", "at character 11, nothing may follow -T"),
        ],
    )
    def test_a_code_that_does_not_parse_says_what_was_expected_and_where(self, text, why):
        with pytest.raises(InputError) as caught:
            parse(text, 10)
        assert str(caught.value) == f"{FORM}{text!r}: {why}"

    def test_a_width_of_thousands_of_digits_is_refused_at_once(self):
        with pytest.raises(InputError, match="a width in epochs must be a whole number"):
            parse("CBS-" + "9" * 5000, 10)

    def test_a_cycle_of_millions_of_steps_is_refused_at_once(self):
        with pytest.raises(InputError) as caught:
            parse("CBS-1-99999999", 10)
        assert str(caught.value) == (
            "steps must keep every batch size at 2**53 or below, got 99999999"
        )

    @pytest.mark.parametrize("base", [0, -1, 2.5, True, "10"])
    def test_a_base_that_is_no_size_is_refused(self, base):
        with pytest.raises(InputError) as caught:
            parse("CBS-5", base)
        assert str(caught.value) == f"base must be a whole number of at least 1, got {base!r}"

    def test_a_base_must_be_given(self):
        with pytest.raises(InputError) as caught:
            parse("CBS-5")
        assert str(caught.value) == "base must be given with a paper code, got none for 'CBS-5'"


class TestPolicies:
    @pytest.mark.parametrize(
        ("text", "policy"),
        [
            ("AUTO", auto(10)),
            (" absa ", absa(10)),
            ("GNS()", gns(10)),
            ("GNS(share=0.5, largest=640)", gns(10, share=0.5, largest=640)),
            ("ABSA(cyclical=True, ratio=8)", absa(10, ratio=8, cyclical=True)),
            ("PLATEAU(watch='validation')", plateau(10, watch="validation")),
            ("plateau(20, patience=0)", plateau(20, patience=0)),
        ],
    )
    def test_a_policy_is_read_from_its_code_or_its_call(self, text, policy):
        assert parse(text, 10) == policy

    @pytest.mark.parametrize(
        ("policy", "text"),
        [
            (auto(10), "AUTO"),
            (gns(10, share=0.5, largest=640), "GNS(largest=640, share=0.5)"),
            (absa(10, scale_rate=False), "ABSA(scale_rate=False)"),
            (plateau(10, watch="validation"), "PLATEAU(watch='validation')"),
        ],
    )
    def test_a_policy_is_written_as_it_is_read(self, policy, text):
        assert str(policy) == text
        assert parse(text, 10) == policy
        assert parse(repr(policy)) == policy

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            (
                "GNS(shares=1)",
                "schedule must be GNS or GNS(option=value, ...), got 'GNS(shares=1)': at character "
                "1, gns() got an unexpected keyword argument 'shares'",
            ),
            ("GNS(share=0)", "share must be a finite number above 0, got 0"),
            ("AUTO(", "schedule must be AUTO or AUTO(option=value, ...), got 'AUTO('"),
            ("GNS(1).x", "schedule must be GNS or GNS(option=value, ...), got 'GNS(1).x': at "),
            ("AUTO-5", f"{FORM}'AUTO-5': at character 1, 'AUTO' takes its options as AUTO(...)"),
        ],
    )
    def test_a_policy_that_does_not_parse_says_why(self, text, message):
        with pytest.raises(InputError) as caught:
            parse(text, 10)
        assert str(caught.value).startswith(message)

    def test_the_code_of_a_policy_needs_a_base(self):
        with pytest.raises(InputError) as caught:
            parse("AUTO")
        assert str(caught.value) == "base must be given with a policy's code, got none for 'AUTO'"

    def test_a_policy_counts_epochs(self):
        assert parse("AUTO", 10, clock="epochs") == auto(10)
        with pytest.raises(InputError) as caught:
            parse("AUTO", 10, clock="updates")
        assert str(caught.value) == (
            "clock must be epochs for AUTO, which decides after them, got 'updates'"
        )

    def test_a_policy_is_no_part_of_a_schedule(self):
        with pytest.raises(InputError, match="schedule must be a schedule, got auto"):
            parse("clamp(auto(10), high=50)")


class TestThresholds:
    def test_thresholds_count_samples_unless_said(self):
        schedule = parse("0:768 250B:1536")
        assert schedule == thresholds({0: 768, 250_000_000_000: 1536}, clock="samples")
        assert parse("0:768", clock="tokens") == thresholds({0: 768}, clock="tokens")

    def test_every_suffix_is_read_in_either_case(self):
        schedule = parse("0:1 1k:2 1M:3 1b:4 1T:5")
        assert schedule.points == ((0, 1), (1000, 2), (10**6, 3), (10**9, 4), (10**12, 5))

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("0:768 250B", f"{WORDS}'250B'"),
            ("0:768 250X:5", f"{WORDS}'250X:5'"),
            ("0:7.5", f"{WORDS}'0:7.5'"),
            (":", f"{WORDS}':'"),
            ("0:-5", f"{WORDS}'0:-5'"),
            ("0:٣", f"{WORDS}'0:٣'"),
            ("0:8 500:16 250:32", "thresholds must rise, got 250 after 500"),
            ("1:8", "thresholds must start at 0, got 1"),
            ("0:0", "batch size must be a whole number of at least 1, got 0"),
            ("0:9999999999999999", "batch size must be at most 2**53, got 9999999999999999"),
            ("0:8 9999T:9", "threshold must be at most 2**53, got 9999000000000000"),
        ],
    )
    def test_thresholds_that_do_not_parse_are_refused(self, text, message):
        with pytest.raises(InputError) as caught:
            parse(text)
        assert str(caught.value) == message


class TestCalls:
    @pytest.mark.parametrize(
        ("text", "schedule"),
        [
            ("clamp(cyclical(10, width=1), high=50)", clamp(cyclical(10, width=1), high=50)),
            ("adabatch(8)", adabatch(8)),
            ("steps(8, every=2, factor=1.5)", steps(8, every=2, factor=1.5)),
            ("milestones(8, at=[5, 6])", milestones(8, at=(5, 6))),
            ("thresholds({0: 8, 5: 16})", thresholds({0: 8, 5: 16})),
            ("multiple_of(constant(9), 4)", multiple_of(constant(9), 4)),
            (
                "join(linear(1, 9, length=4), constant(9), at=4)",
                join(linear(1, 9, length=4), constant(9), at=4),
            ),
        ],
    )
    def test_a_call_of_any_shape_is_read(self, text, schedule):
        assert parse(text) == schedule

    def test_the_clock_goes_to_every_shape_that_says_none(self):
        schedule = parse("repeat(join(constant(1), constant(2), at=3), every=6)", clock="updates")
        inner = join(constant(1, clock="updates"), constant(2, clock="updates"), at=3)
        assert schedule == repeat(inner, every=6)
        assert parse("constant(1, clock='tokens')", clock="updates").clock == "tokens"

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("constant(0)", "base must be a whole number of at least 1, got 0"),
            ("constant(-5)", "base must be a whole number of at least 1, got -5"),
            ("constant(1", f"{CALL}'constant(1'"),
            ("()", f"{CALL}'()'"),
            ("(5)", f"{CALL}'(5)'"),
            ("constant(1 + 1)", f"{CALL}'constant(1 + 1)': at character 10, only calls, "),
            ("constant(x)", f"{CALL}'constant(x)': at character 10, only calls, "),
            ("constant(*(1,))", f"{CALL}'constant(*(1,))': at character 10, only calls, "),
            ("os.system('x')", f"{CALL}\"os.system('x')\": at character 1, only calls, "),
            ("print(5)", f"{CALL}'print(5)': at character 1, 'print' is none of absa, adabatch, "),
            ("constant()", f"{CALL}'constant()': at character 1, constant() missing 1 required "),
            ("constant(1, 2)", f"{CALL}'constant(1, 2)': at character 1, constant() takes 2 "),
            ("constant(**{})", f"{CALL}'constant(**{{}})': at character 1, constant() got an "),
            ("clamp(constant(5), clock='updates')", f"{CALL}\"clamp(constant(5), clock='updates"),
            ("constant(5, clock='hours')", "clock must be one of epochs, updates, samples, "),
        ],
    )
    def test_a_call_that_does_not_parse_says_why(self, text, message):
        with pytest.raises(InputError) as caught:
            parse(text)
        assert str(caught.value).startswith(message)

    @pytest.mark.parametrize(
        "text",
        [
            "(" * 1000 + ")" * 1000,
            "clamp(" * 1000 + ")" * 1000,
            "constant(" + "-" * 100_000 + "1)",
            "constant(" + "1+" * 50_000 + "1)",
            "constant(9**9**9**9)",
            "constant(0x" + "f" * 100_000 + ")",
            "constant(" + "9" * 100_000 + ")",
            "constant(1e999)",
            "constant('\\0')\0(",
            "\ud800(",
        ],
    )
    def test_a_hostile_call_is_refused_at_once(self, text):
        with pytest.raises(InputError):
            parse(text)


@pytest.mark.parametrize("text", [None, 5, b"CBS-5", ["CBS-5"], math.nan])
def test_what_is_no_text_is_refused(text):
    with pytest.raises(InputError) as caught:
        parse(text, 10)
    assert str(caught.value) == f"schedule must be text, got {text!r}"


def test_a_clock_that_is_none_is_refused():
    with pytest.raises(InputError, match="clock must be one of epochs, updates, samples, tokens"):
        parse("0:5", clock="hours")


def refused_or_read(text: str) -> None:
    try:
        schedule = parse(text, 10)
    except InputError:
        return
    assert isinstance(schedule, Policy) or schedule(0) >= 1


@given(text=st.text())
@example("CBS-²")
@example("CBS-5-ß")
def test_any_text_gives_a_schedule_or_an_input_error(text):
    refused_or_read(text)


@given(parts=st.lists(st.sampled_from(["BL", "CBS", "5", "0", "A", "T", "", "-", "x", "99999999"])))
def test_anything_like_a_code_gives_a_schedule_or_an_input_error(parts):
    refused_or_read("-".join(parts))


LITERALS = (
    st.integers(-3, 60)
    | st.sampled_from([2**53, 2**60, 0.5, 1e308, -0.0, None, True, "x", "updates", (), (1, 5)])
    | st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=3)
).map(repr)
NAMES = st.sampled_from([shape.__name__ for shape in (*_SHAPES, *_COMBINATORS)])
KEYWORDS = st.sampled_from(
    [
        *("width", "steps", "growth", "at", "factor", "every", "length", "power", "low", "high"),
        *("turn", "mode", "gamma", "restarts", "lengthen", "number", "clock", "largest"),
    ]
)


def calls(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    named = st.builds("{}={}".format, KEYWORDS, inner)
    return st.builds(
        lambda name, *given: f"{name}({', '.join(part for some in given for part in some)})",
        *(NAMES, st.lists(inner, max_size=3), st.lists(named, max_size=3)),
    )


@given(text=st.recursive(LITERALS, calls, max_leaves=6))
def test_any_call_of_a_shape_gives_a_schedule_or_an_input_error(text):
    refused_or_read(text)
