from pathlib import Path

import pytest
from typer.testing import CliRunner

from rebatch.cli.data import app
from rebatch.errors import InputError


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "penn-treebank").mkdir()
    (tmp_path / "penn-treebank/ptb.train.txt").write_text("a b\n")
    return tmp_path


def run(*arguments: str):
    return CliRunner().invoke(app, arguments, env={"COLUMNS": "120"})


def test_list_shows_every_data_set_and_whether_it_is_there(root: Path):
    result = run("list", "--data", str(root))
    rows = {line.split()[0]: line for line in result.output.splitlines() if line.split()}
    assert result.exit_code == 0
    assert "yes" in rows["digits"]
    assert "penn-treebank" in rows["ptb"]
    assert "in part" in rows["ptb"]
    assert "4 bytes" in rows["ptb"]
    assert " no " in rows["cifar10"]


def test_check_prints_counts_and_exits_0_when_all_is_well(tmp_path: Path):
    result = run("check", "--data", str(tmp_path))
    assert result.exit_code == 0
    assert result.stdout == (
        "digits: train 1,437, test 360, classes 10; no recorded checksums compared\n"
    )


def test_check_prints_a_line_a_problem_and_exits_1(root: Path):
    result = run("check", "ptb", "cifar10", "--data", str(root))
    assert result.exit_code == 1
    ptb, cifar10 = result.stderr.splitlines()
    assert ptb.startswith("ptb: ptb.valid.txt, ptb.test.txt must be in ")
    assert cifar10.endswith(f"run: rebatch data get cifar10 --data {root}")


def test_get_says_when_a_data_set_is_there(root: Path):
    result = run("get", "digits", "--data", str(root))
    assert result.output == "digits is already in the package\n"


@pytest.mark.parametrize("command", ["get", "check"])
def test_an_unknown_data_set_is_an_input_error(command: str, root: Path):
    result = run(command, "ptp", "--data", str(root))
    assert isinstance(result.exception, InputError)
    assert str(result.exception).endswith("got ptp; did you mean ptb?")
