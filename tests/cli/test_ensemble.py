import json

import pytest
import torch

from rebatch.cli import main


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run of the demo's recipe with two snapshots."""
    torch.set_num_threads(1)
    out = tmp_path_factory.mktemp("ensemble") / "run"
    command = ["train", "digits", "--schedule", "CBS-1-2", "--set", "epochs=4", "--out", str(out)]
    assert main([*command, "--device", "cpu"]) == 0
    return out


def test_every_member_and_all_together_are_printed(run, capsys):
    assert main(["ensemble", str(run), "--device", "cpu"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in lines] == ["cycle-000", "cycle-001", "together"]
    result = json.loads((run / "result.json").read_text())["ensemble"]
    assert lines[-1] == (
        f"together: test_loss {result['test_loss']:.2f}, "
        f"test_accuracy {result['test_accuracy']:.2f}"
    )


def test_the_last_ones_are_a_choice(run, capsys):
    assert main(["ensemble", str(run), "--last", "1", "--device", "cpu", "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert list(figures["each"]) == ["cycle-001"]
    assert figures["together"] == figures["each"]["cycle-001"]


@pytest.mark.parametrize("last", ["0", "-1", "x", "1.5"])
def test_a_wrong_number_of_them_is_one_line(run, capsys, last):
    assert main(["ensemble", str(run), "--last", last]) == 2
    assert capsys.readouterr().err.startswith("rebatch: ")


def test_a_folder_without_a_run_is_wrong_input(tmp_path, capsys):
    assert main(["ensemble", str(tmp_path)]) == 2
    assert capsys.readouterr().err == (
        f"rebatch: folder must hold a run, got {tmp_path} without run.json\n"
    )
