from pathlib import Path

import pytest

from rebatch.cli import main


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "penn-treebank").mkdir()
    (tmp_path / "penn-treebank/ptb.train.txt").write_text("a b\n")
    return tmp_path


def test_list_shows_every_data_set_and_whether_it_is_there(root, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    assert main(["data", "list", "--data", str(root)]) == 0
    lines = capsys.readouterr().out.splitlines()
    rows = {line.split()[0]: line for line in lines if line.split()}
    assert "yes" in rows["digits"]
    assert "penn-treebank" in rows["ptb"]
    assert "in part" in rows["ptb"]
    assert "4 bytes" in rows["ptb"]
    assert " no " in rows["cifar10"]


def test_check_prints_counts_and_exits_0_when_all_is_well(tmp_path, capsys):
    assert main(["data", "check", "--data", str(tmp_path)]) == 0
    assert capsys.readouterr().out == (
        "digits: train 1,437, test 360, classes 10; no recorded checksums compared\n"
    )


def test_check_prints_a_line_a_problem_and_exits_1(root, capsys):
    assert main(["data", "check", "ptb", "cifar10", "--data", str(root)]) == 1
    ptb, cifar10 = capsys.readouterr().err.splitlines()
    assert ptb.startswith("ptb: ptb.valid.txt, ptb.test.txt must be in ")
    assert cifar10.endswith(f"run: rebatch data get cifar10 --data {root}")


def test_get_says_when_a_data_set_is_there(root, capsys):
    assert main(["data", "get", "digits", "--data", str(root)]) == 0
    assert capsys.readouterr().out == "digits is already in the package\n"


@pytest.mark.parametrize("command", ["get", "check"])
def test_an_unknown_data_set_is_one_line_and_exit_2(command, root, capsys):
    assert main(["data", command, "ptp", "--data", str(root)]) == 2
    assert capsys.readouterr().err.endswith("got ptp; did you mean ptb?\n")
