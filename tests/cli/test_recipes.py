import json
import subprocess
import sys

import pytest

from rebatch.cli import main
from rebatch.recipes import RECIPES


def test_every_recipe_is_listed_with_its_cost_in_eighty_columns(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["recipes"]) == 0
    text = capsys.readouterr().out
    lines = {line.split()[0]: line for line in text.splitlines() if line.split()}
    assert set(RECIPES) <= set(lines)
    assert "…" not in text
    assert lines["l1-ptb"].split() == [
        *("l1-ptb", "LSTM", "2", "x", "650,", "Penn", "Treebank", "39", "35,238–53,452")
    ]
    assert lines["i1-imagenet"].endswith("262,800–450,450 ")


def test_a_narrow_terminal_leaves_names_and_figures_whole(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    assert main(["recipes"]) == 0
    text = capsys.readouterr().out
    assert set(RECIPES) <= set(text.split())
    assert "…" not in text
    assert max(map(len, text.splitlines()[:-3])) <= 60


def test_one_recipe_is_shown_in_full(capsys):
    assert main(["recipes", "c4-cifar10"]) == 0
    fields = dict(line.split(None, 1) for line in capsys.readouterr().out.splitlines())
    assert fields["baseline_rate"] == "divided(0.1, at=(150, 225), by=10)"
    assert fields["epochs"] == "240"


def test_json_is_for_programs(capsys):
    assert main(["recipes", "--json"]) == 0
    assert [recipe["name"] for recipe in json.loads(capsys.readouterr().out)] == list(RECIPES)
    assert main(["recipes", "l1-ptb", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["epochs"] == 39


def test_an_unknown_recipe_is_wrong_input(capsys):
    assert main(["recipes", "l1-pbt"]) == 2
    assert capsys.readouterr().err.endswith("did you mean l1-ptb?\n")


def test_help_names_every_control(capsys):
    with pytest.raises(SystemExit):
        main(["recipes", "--help"])
    text = capsys.readouterr().out
    for name in ("base-batch", "equal-noise", "equal-updates", "plateau", "snapshots-as-CODE"):
        assert name in text


def test_the_list_needs_no_torch():
    code = (
        "import sys; from rebatch.cli import main; main(['recipes']); "
        "sys.exit('torch' in sys.modules)"
    )
    path = {"PYTHONPATH": ":".join(sys.path)}
    assert (
        subprocess.run([sys.executable, "-c", code], env=path, capture_output=True).returncode == 0
    )
