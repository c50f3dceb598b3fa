import json
import subprocess
import sys
from pathlib import Path

import pytest

DRIVER = Path(__file__).parent / "killing.py"


def killed(kills: int | str, seed: int, folder: Path, environment: dict[str, str]) -> dict:
    command = [sys.executable, str(DRIVER), str(kills), str(seed), str(folder)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=540)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_a_few_kills_at_random_moments_lose_nothing(in_memory, environment):
    found = killed(4, 1, in_memory, environment)
    assert (found["kills"], found["exact resumes"]) == (4, 4)


@pytest.mark.faults
def test_a_kill_at_any_decision_neither_loses_nor_doubles_it(in_memory, environment):
    found = killed("plan", 0, in_memory, environment)
    # The plan is written at the start, at five decisions and when the last cycle is closed: each
    # time it is opened, given its mode and renamed.
    assert found["kills"] == found["exact resumes"] == 7 * 3
    assert found["struck"] == {f"plan of {rows} rows": 3 for rows in range(7)}


@pytest.mark.faults
def test_two_hundred_kills_at_random_moments_lose_nothing(in_memory, environment):
    found = killed(200, 2, in_memory, environment)
    assert (found["kills"], found["exact resumes"]) == (200, 200)
    print("\n200 kills, 200 exact resumes; struck", end=" ")
    print(", ".join(f"{count} {where}" for where, count in sorted(found["struck"].items())))
