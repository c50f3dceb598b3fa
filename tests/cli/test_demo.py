import os

import pytest
import torch

from rebatch.cli import main
from rebatch.records import find_runs


@pytest.fixture(autouse=True)
def _one_thread() -> None:
    torch.set_num_threads(1)


def test_the_demo_trains_compares_and_writes_a_page(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    out = tmp_path / "demo"
    arguments = ["demo", "--out", str(out), "--seeds", "1", "--epochs", "2"]
    assert main(arguments) == 0
    said = capsys.readouterr()
    assert said.err == ""
    rows = [line.split() for line in said.out.splitlines()]
    first = [row[0] for row in rows if row[1:2] == ["(epochs=2)"]]
    assert first == ["BL", "CBS-5", "CBS-5-A", "CBS-5-T"]
    assert f"curves: {out / 'report.html'}" in said.out
    assert (out / "report.html").read_text().startswith("<!DOCTYPE html>")
    names = [run.path.relative_to(out / "runs").as_posix() for run in find_runs(out)]
    assert names == ["BL/seed0", "CBS-5/seed0", "CBS-5-A/seed0", "CBS-5-T/seed0"]

    before = os.stat(out / "runs" / "BL" / "seed0" / "metrics.jsonl").st_mtime_ns
    assert main(arguments) == 0  # what is finished is not done again
    assert os.stat(out / "runs" / "BL" / "seed0" / "metrics.jsonl").st_mtime_ns == before


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--seeds", "0"], "rebatch: seeds must be a whole number of at least 1, got 0"),
        (["--seeds", "many"], "rebatch: seeds must be a whole number of at least 1, got 'many'"),
        (["--epochs", "0"], "rebatch: epochs must be a whole number of at least 1, got 0"),
        (["--epochs", "two"], "rebatch: epochs must be a whole number, got 'two'"),
    ],
)
def test_wrong_input_is_one_line(tmp_path, capsys, arguments, complaint):
    assert main(["demo", "--out", str(tmp_path / "demo"), *arguments]) == 2
    assert capsys.readouterr().err == f"{complaint}\n"
    assert not (tmp_path / "demo").exists()
