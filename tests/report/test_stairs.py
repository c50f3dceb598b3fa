import rebatch
from rebatch.report._stairs import Stairs, stairs, unit_of


def plan(code, **options):
    return rebatch.plan(rebatch.parse(code, 10, **options), epochs=3, examples=100)


def test_a_plan_over_epochs():
    assert stairs(plan("CBS-1-2"), "epochs") == Stairs(
        "CBS-1-2", edges=(0, 1, 2, 3), sizes=(10, 20, 10), ends=(2,)
    )


def test_a_plan_over_updates():
    assert stairs(plan("CBS-1-2"), "updates").edges == (0, 10, 15, 25)


def test_a_plan_over_samples():
    assert stairs(plan("CBS-1-2"), "samples").edges == (0, 100, 200, 300)


def test_rows_without_updates_are_not_drawn_over_updates():
    made = rebatch.plan(rebatch.parse("CBS-1-2", 60), epochs=3, examples=100, drop_last=True)
    assert stairs(made, "epochs").sizes == (60, 120, 60)
    assert stairs(made, "updates") == Stairs("CBS-1-2", edges=(0, 1, 2), sizes=(60, 60))


def test_plans_with_one_clock_are_drawn_over_it():
    assert unit_of([plan("CBS-1"), plan("BL")]) == "epochs"
    assert unit_of([plan("CBS-1", clock="updates")]) == "updates"


def test_plans_with_different_clocks_are_drawn_over_samples():
    assert unit_of([plan("CBS-1"), plan("CBS-1", clock="updates")]) == "samples"


def test_token_streams_are_drawn_over_tokens():
    made = rebatch.plan(rebatch.parse("0:2 50:4"), epochs=1, tokens=100, bptt=5)
    assert unit_of([made]) == "tokens"
