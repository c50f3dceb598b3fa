"""Two real processes: DDP over planned pieces against one large batch."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import rebatch


@pytest.fixture(scope="module")
def differences(tmp_path_factory):
    script = Path(__file__).parent / "gradient_of_two_ranks.py"
    store = tmp_path_factory.mktemp("ranks") / "store"
    environment = {**os.environ, "PYTHONPATH": str(Path(rebatch.__file__).parents[1])}
    ranks = [
        subprocess.Popen(
            [sys.executable, script, str(rank), store], env=environment, stdout=subprocess.PIPE
        )
        for rank in range(2)
    ]
    try:
        return [json.loads(process.communicate(timeout=60)[0]) for process in ranks]
    finally:
        for process in ranks:
            process.kill()


def test_an_mlp_over_two_ranks_has_the_gradient_of_the_large_batch(differences):
    assert max(rank["mlp"] for rank in differences) < 1e-10


def test_an_lstm_over_two_ranks_has_the_gradient_of_the_mean_over_all_tokens(differences):
    assert max(rank["lstm"] for rank in differences) < 1e-10
