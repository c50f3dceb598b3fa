from collections import deque
from contextlib import suppress
from io import StringIO

from rich.console import Console

from rebatch.sweeps import Identity, Standing
from rebatch.sweeps._loop import State, Stopped
from rebatch.sweeps._process import Outcome
from rebatch.sweeps._screen import Screen, judged, table

RUNS = [Identity("digits", "CBS-5", seed) for seed in range(3)]
UNDER_WAY = Standing("running", 3, 270, 32, {"test_accuracy": 91.234}, seconds=12.0, left=75.0)


def printed(made) -> str:
    console = Console(file=StringIO(), width=120)
    console.print(made)
    return console.file.getvalue()


def state(**more) -> State:
    return State(deque(), **more)


def test_the_table_tells_where_a_run_is():
    (line,) = [
        line for line in printed(table([(RUNS[0], UNDER_WAY)], 9)).splitlines() if "seed" in line
    ]
    assert line.split() == [
        *("digits", "CBS-5", "seed", "0", "running", "3/40"),
        *("270/1,700", "32", "test_accuracy", "91.23", "1", "min", "15", "s"),
    ]


def test_the_updates_of_a_policy_are_told_as_an_estimate():
    said = printed(table([(Identity("digits", "PLATEAU", 0), UNDER_WAY)], 9))
    assert " 270/~3,600 " in said


def test_what_is_under_way_comes_first_and_the_rest_is_counted():
    known = [
        (RUNS[0], Standing("finished")),
        (RUNS[1], Standing()),
        (RUNS[2], UNDER_WAY),
    ]
    said = printed(table(known, rows=1))
    assert "seed 2" in said
    assert "seed 0" not in said
    assert "1 running, 1 waiting, 1 finished" in said


def test_markup_in_an_error_is_shown_as_it_is():
    said = printed(table([(RUNS[0], Standing("failed", error="[red]x[/nothing]"))], 9))
    assert "[red]x[/nothing]" in said


def test_records_that_still_say_running_do_not_deceive():
    assert judged(RUNS[0], UNDER_WAY, state()).status == "interrupted"
    assert judged(RUNS[0], UNDER_WAY, state(running={RUNS[0]: None})).status == "running"
    assert judged(RUNS[0], Standing(), state(running={RUNS[0]: None})).status == "starting"
    assert judged(RUNS[0], UNDER_WAY, state(in_use={RUNS[0]: 1.0})).status == "in use"


def test_a_failed_run_tells_why():
    failed = judged(RUNS[0], UNDER_WAY, state(ended={RUNS[0]: Outcome(1, "no memory")}))
    assert (failed.status, failed.error) == ("failed", "no memory")


def test_without_a_terminal_there_is_a_line_a_change():
    console = Console(file=StringIO(), width=40)
    found = {RUNS[0]: Standing("finished", update=9, seconds=3.0), RUNS[1]: UNDER_WAY}
    with Screen(RUNS[:2], found.__getitem__, console) as screen:
        screen.refresh(state(running={RUNS[1]: None}))
        screen.refresh(state(running={RUNS[1]: None}))
        found[RUNS[1]] = Standing("finished", update=11, seconds=70.0)
        screen.refresh(state())
    assert console.file.getvalue().splitlines() == [
        "digits CBS-5 seed 0: finished, 9 updates in 3 s",
        "digits CBS-5 seed 1: running, test_accuracy 91.23, 270 updates in 12 s",
        "digits CBS-5 seed 1: finished, 11 updates in 1 min 10 s",
    ]


def test_in_a_terminal_the_whole_table_stays_at_the_end():
    console = Console(file=StringIO(), force_terminal=True, width=120, height=10)
    with Screen(RUNS, lambda run: UNDER_WAY, console) as screen:
        screen.refresh(state(running=dict.fromkeys(RUNS)))
    before = len(console.file.getvalue())
    screen.conclude()
    said = console.file.getvalue()[before:]
    assert all(f"seed {seed}" in said for seed in range(3))


def test_a_narrow_terminal_does_without_columns_but_keeps_status_and_figure():
    known = [(Identity("c3-cifar10", "CBS-15-2-A", seed), UNDER_WAY) for seed in range(2)]
    console = Console(file=StringIO(), width=80)
    console.print(table(known, 9, 80))
    said = console.file.getvalue()
    assert "running" in said
    assert "test_accuracy 91.23" in said
    assert "updates" not in said
    assert "c3-cifar10 CBS-15-2…" not in said
    assert all(f"… seed {seed} " in said for seed in range(2))


def test_what_was_stopped_is_not_left_standing_as_under_way():
    console = Console(file=StringIO(), force_terminal=True, width=120, height=10)
    sweep = state(running={RUNS[0]: None})
    screen = Screen(RUNS[:1], lambda run: UNDER_WAY, console)
    with suppress(Stopped), screen:
        screen.show(sweep)
        sweep.running.clear()
        raise Stopped(2)
    before = len(console.file.getvalue())
    screen.conclude()
    assert "1 interrupted" in console.file.getvalue()[before:]
