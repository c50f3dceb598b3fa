"""Strategies for what the pure layer is made of, ``st.from_type(Schedule)`` say; a small disk."""

import os
import subprocess
from typing import Any

import pytest
from hypothesis import assume, settings
from hypothesis import strategies as st

import rebatch
from rebatch import Plan, Schedule
from rebatch.schedules._schedule import CLOCKS

settings.register_profile("rebatch", deadline=None, max_examples=100, derandomize=True)
settings.register_profile("faults", deadline=None, max_examples=500)
settings.register_profile("deep", deadline=None, max_examples=10_000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "rebatch"))

SIZES = st.integers(1, 40)
WIDTHS = st.integers(1, 6)
LARGEST = st.none() | st.integers(40, 90)
FACTORS = st.sampled_from((0.5, 1, 1.3, 2, 2.5, 5))


@pytest.fixture
def small_disk(tmp_path):
    """A disk of one megabyte."""
    disk = tmp_path / "disk"
    disk.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(disk)]
    if os.geteuid() != 0 or subprocess.run(command, capture_output=True).returncode:
        pytest.skip("needs the right to mount")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


def shapes(clock: str) -> st.SearchStrategy[Schedule]:
    """Schedules of every shape that counts by ``clock``, but those of a function."""
    clocks = st.just(clock)
    growing: dict[str, Any] = {"factor": FACTORS, "largest": LARGEST, "clock": clocks}
    at = st.sets(st.integers(1, 30), max_size=4).map(lambda found: tuple(sorted(found)))
    points = st.dictionaries(st.integers(1, 30), SIZES, max_size=4)
    ramp = {"length": WIDTHS, "clock": clocks}
    restarts = {"restarts": st.just(True), "lengthen": st.integers(1, 3)}
    modes = st.sampled_from(("triangular", "triangular2", "exp_range"))
    turns = st.floats(0.1, 0.9)
    return st.one_of(
        st.builds(rebatch.constant, SIZES, clock=clocks),
        st.builds(
            rebatch.cyclical,
            SIZES,
            width=WIDTHS,
            steps=st.integers(2, 5),
            growth=st.integers(2, 4),
            clock=clocks,
        ),
        st.builds(rebatch.triangular, SIZES, width=WIDTHS, steps=st.integers(2, 5), clock=clocks),
        st.builds(
            lambda first, later: rebatch.thresholds(
                {0: first, **dict(sorted(later.items()))}, clock=clock
            ),
            SIZES,
            points,
        ),
        st.builds(rebatch.milestones, SIZES, at=at, **growing),
        st.builds(rebatch.steps, SIZES, every=WIDTHS, **growing),
        st.builds(rebatch.adabatch, SIZES, every=WIDTHS, **growing),
        st.builds(rebatch.exponential, SIZES, **growing),
        st.builds(rebatch.square_wave, SIZES, SIZES, width=WIDTHS, clock=clocks),
        st.builds(rebatch.linear, SIZES, SIZES, **ramp),
        st.builds(rebatch.polynomial, SIZES, SIZES, power=FACTORS, **ramp),
        st.builds(rebatch.cosine, SIZES, SIZES, **ramp),
        st.builds(rebatch.cosine, SIZES, SIZES, **restarts, **ramp),
        st.builds(rebatch.one_cycle, SIZES, SIZES, SIZES, turn=turns, **ramp),
        st.builds(
            rebatch.cyclic,
            *(SIZES, SIZES),
            width=WIDTHS,
            mode=modes,
            gamma=st.sampled_from((1, 0.9)),
            clock=clocks,
        ),
    )


def combined(parts: st.SearchStrategy[Schedule]) -> st.SearchStrategy[Schedule]:
    """Schedules made of others."""
    return st.one_of(
        st.builds(lambda *three: rebatch.join(*three, at=(4, 9)), parts, parts, parts),
        st.builds(rebatch.repeat, parts, every=st.integers(1, 9)),
        st.builds(rebatch.clamp, parts, low=st.integers(1, 5), high=st.integers(5, 50)),
        st.builds(rebatch.clamp, parts, low=SIZES),
        st.builds(rebatch.multiple_of, parts, st.integers(1, 16)),
    )


SCHEDULES = {clock: st.recursive(shapes(clock), combined, max_leaves=3) for clock in CLOCKS}


@st.composite
def arguments(draw: st.DrawFn) -> dict[str, Any]:
    """Arguments that `rebatch.plan` may be called with; some of them it has to refuse."""
    clock = draw(st.sampled_from(CLOCKS))
    schedule = draw(SCHEDULES[clock])
    length = draw(
        st.sampled_from(
            [("epochs", 1), ("epochs", 7), ("updates", 1), ("updates", 60), ("samples", 777)]
        )
    )
    made: dict[str, Any] = {"schedule": schedule, length[0]: length[1]}
    if draw(st.booleans()):
        made |= {"tokens": draw(st.integers(2, 300)), "bptt": draw(st.integers(1, 5))}
        return made
    if draw(st.integers(0, 4)):
        made["examples"] = draw(st.integers(1, 200))
    if clock == "tokens":
        made["tokens_per_example"] = draw(st.integers(1, 3))
    return made | {"drop_last": draw(st.booleans())}


def made_of(given: dict[str, Any]) -> Plan:
    """The plan of arguments that allow one."""
    try:
        return rebatch.plan(**given)
    except rebatch.InputError:
        assume(False)
        raise


st.register_type_strategy(Schedule, st.one_of(*SCHEDULES.values()))
st.register_type_strategy(Plan, arguments().map(made_of))


@pytest.fixture(scope="session")
def plan_arguments() -> st.SearchStrategy[dict[str, Any]]:
    """What `rebatch.plan` may be called with."""
    return arguments()
