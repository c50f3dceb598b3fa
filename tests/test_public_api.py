"""The names that people and scripts rely on: a change here is a change for them."""

import os
import subprocess
import sys
from inspect import ismodule
from pathlib import Path

import rebatch
from rebatch import policies, rates, schedules

FUNCTIONS_AND_VALUES = [
    *("InputError", "Plan", "Policy", "Row", "RunError", "Schedule", "absa", "adabatch", "auto"),
    *("baseline", "clamp", "constant", "cosine", "cyclic", "cyclical", "exponential"),
    *("from_function", "gns", "join", "linear", "milestones", "multiple_of", "noise_scale"),
    *("one_cycle", "parse", "plan", "plateau", "polynomial", "repeat", "square_wave", "steps"),
    *("thresholds", "triangular"),
]
POLICIES = ["Decision", "Outlook", "Policy", "Seen", "absa", "auto", "gns", "plateau"]
SCHEDULES = [
    *("Clock", "Schedule", "Stair", "adabatch", "clamp", "constant", "cosine", "cyclic"),
    *("cyclical", "exponential", "from_function", "join", "linear", "milestones"),
    *("multiple_of", "one_cycle", "parse", "polynomial", "repeat", "square_wave", "steps"),
    *("thresholds", "triangular"),
]
RATES = [
    *("Rate", "adabatch", "beyond_largest", "constant", "cosine", "coupled", "divided"),
    *("divided_every", "equal_noise", "parse_rate", "plateau", "triangular"),
]
ROW = [
    *("first_epoch", "epochs", "first_update", "updates", "first_sample", "samples"),
    *("batch_size", "cycle", "step", "ends_cycle"),
]
PLAN = [
    *("amount", "base", "batch_size_at", "clock", "cycle_ends", "drop_last", "end", "epoch_at"),
    *("epochs", "examples", "extend", "fingerprint", "first_update_of", "from_json", "left_out"),
    *("next_row", "notes", "place_at", "portions", "row_at", "rows", "sample_at", "samples"),
    *("saved", "schedule", "sizes", "to_dict", "to_json", "update_at", "updates", "updates_in"),
]


def public(module: object) -> list[str]:
    found = vars(module).items()
    return sorted(name for name, it in found if not name.startswith("_") and not ismodule(it))


def test_the_names_of_rebatch():
    assert public(rebatch) == FUNCTIONS_AND_VALUES


def test_the_names_of_policies():
    assert public(policies) == POLICIES


def test_the_names_of_schedules():
    assert public(schedules) == SCHEDULES


def test_the_names_of_rates():
    here = [getattr(getattr(rates, name), "__module__", "") for name in public(rates)]
    own = zip(public(rates), here, strict=True)
    assert [name for name, module in own if module == "rebatch.rates"] == RATES


def test_rates_come_with_rebatch():
    code = "import rebatch; print(rebatch.rates.constant(0.1), rebatch.noise.rate_for(8, 2, 4))"
    path = {**os.environ, "PYTHONPATH": str(Path(rebatch.__file__).parent.parent)}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=path)
    assert done.stdout == "constant(0.1) 4.0\n"


def test_the_fields_of_a_row():
    assert list(rebatch.Row.__dataclass_fields__) == ROW


def test_the_attributes_of_a_plan():
    made = rebatch.plan(rebatch.constant(1), epochs=1, examples=1)
    assert sorted(name for name in dir(made) if not name.startswith("_")) == PLAN
