import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

import rebatch
from rebatch import Plan
from rebatch.report._plan_text import amount, cost, few, show, shown


def plan(code, epochs=8, examples=1000, base=10, **options):
    return rebatch.plan(rebatch.parse(code, base), epochs=epochs, examples=examples, **options)


def text(*plans, baseline=None, width=80):
    console = Console(file=io.StringIO(), width=width, highlight=False)
    show(console, plans, baseline)
    return console.file.getvalue()


def lines(*plans, **options):
    return [line.rstrip() for line in text(*plans, **options).splitlines()]


def test_one_plan_is_shown_with_drawing_rows_and_totals():
    assert lines(plan("CBS-2-2", epochs=4, examples=100)) == [
        "CBS-2-2  base 10, 4 epochs of 100 examples",
        "",
        "20┤" + " " * 38 + "█" * 38,
        "10┤" + "█" * 76,
        "  └" + "─" * 75 + "┴",
        "   0" + "4 epochs".rjust(75),
        "",
        " cycle  step  from epoch  epochs  batch size  updates  samples",
        " ─────────────────────────────────────────────────────────────",
        "     0     0           0       2          10       20      200",
        "     0     1           2       2          20       10      200",
        "",
        "30 updates, 400 samples",
        "cycles end after epoch 4",
        "25.0 % fewer updates than BL at batch size 10 (40)",
    ]


def test_the_baseline_may_have_another_size():
    assert lines(plan("BL"), baseline=20)[-1] == (
        "100.0 % more updates than BL at batch size 20 (400)"
    )
    assert lines(plan("BL"))[-1] == "as many updates as BL at batch size 10 (800)"


def test_a_base_that_no_epoch_has_an_update_of_is_no_baseline():
    made = plan("steps(7, every=1, factor=0.5)", epochs=3, examples=6, drop_last=True)
    assert lines(made)[-2:] == ["4 updates, 10 samples, 8 left out", "no cycle ends"]
    found = lines(made, plan("0:2", epochs=3, examples=6, drop_last=True), width=100)
    assert [line.split()[-2:] for line in found[-4:-2]] == [["4", "-"], ["9", "-"]]


def test_a_plan_that_ends_no_cycle_says_so():
    assert "no cycle ends" in lines(plan("CBS-10"))


def test_samples_left_out_are_counted():
    made = plan("BL", epochs=2, examples=105, drop_last=True)
    assert "20 updates, 200 samples, 10 left out" in lines(made)


def test_long_plans_show_the_first_two_cycles_and_the_last():
    rows = list(shown(plan("CBS-1", epochs=400).rows))
    assert [row if isinstance(row, int) else row.cycle for row in rows] == (
        [0] * 4 + [1] * 4 + [388] + [99] * 4
    )


def test_a_long_cycle_shows_its_start_and_its_end():
    made = plan("linear(8, 640, length=500)", epochs=600)
    rows = list(shown(made.rows))
    assert [row if isinstance(row, int) else row.step for row in rows] == (
        [0, 1, 2, 3, 4, 5, 493, 499, 500]
    )


def test_short_plans_are_shown_whole():
    made = plan("CBS-1", epochs=20)
    assert list(shown(made.rows)) == list(made.rows)


def test_what_is_left_out_of_the_table_is_counted_in_it():
    found = [line.split() for line in lines(plan("CBS-1", epochs=400)) if "…" in line]
    assert found[0] == ["…", "…", "388", "rows", "…", "…", "…", "…"]


def test_several_plans_stand_in_one_table():
    found = lines(plan("BL"), plan("CBS-2"), plan("CBS-1-2-A"))
    table = [line.split("  ") for line in found if line.startswith(" ")]
    cells = [[cell.strip() for cell in line if cell.strip()] for line in table]
    assert cells[-3:] == [
        ["BL", "10", "-", "800", "the same"],
        ["CBS-2", "10, 20, 40, 80", "8", "376", "53.0 % fewer"],
        ["CBS-1-2-A", "10, 40", "2, 4, 6, 8", "500", "37.5 % fewer"],
    ]
    assert found[-1] == "8 epochs of 1,000 examples"


def test_several_plans_of_different_lengths_name_them():
    every = [
        rebatch.plan(rebatch.parse(code, 10), updates=100, examples=1000)
        for code in ("BL", "constant(20)")
    ]
    assert lines(*every)[-1] == ("lengths: 1 epoch of 1,000 examples; 2 epochs of 1,000 examples")


def test_terminals_without_unicode_get_plain_characters():
    raw = io.BytesIO()
    console = Console(file=io.TextIOWrapper(raw, encoding="ascii"), width=80, highlight=False)
    show(console, [plan("CBS-1", epochs=400)])
    console.file.flush()
    assert b"10+####" in raw.getvalue()
    assert b"... |" in raw.getvalue()


def test_names_are_not_read_as_markup():
    made = plan("milestones(10, at=[2], factor=2)")
    assert "milestones(10, at=(2,))" in text(made)


@pytest.mark.parametrize(
    ("items", "words"),
    [([], ""), ([4], "4"), ([1, 2, 3, 4, 5], "1, 2, 3, 4, 5"), (range(1, 9), "1, 2, 3, …, 8")],
)
def test_long_lists_keep_their_start_and_their_end(items, words):
    assert few(list(items)) == words


def test_the_cost_is_said_in_words():
    assert cost(plan("CBS-2"), plan("BL")) == "53.0 % fewer"
    assert cost(plan("BL"), plan("CBS-2")) == "112.8 % more"


def test_the_amount_is_said_in_words():
    made = rebatch.plan(rebatch.parse("BL", 10), epochs=1, tokens=929_589, bptt=35)
    assert amount(made) == "1 epoch of 929,589 tokens in segments of 35"


@given(made=st.from_type(Plan))
def test_every_plan_can_be_shown_in_80_columns(made):
    assert all(len(line) <= 80 for line in text(made).splitlines())
