import json
import sys

import pytest

from rebatch.cli import main

QUICK = ["--warm-up", "10%", "--repeats", "2", "--largest", "32", "--rate", "constant"]


def test_a_dry_run_tells_the_cost_and_trains_nothing(tmp_path, capsys):
    out = tmp_path / "probe"
    assert main(["probe", "digits", "--dry-run", "--out", str(out), "--device", "cpu"]) == 0
    told = capsys.readouterr().out
    assert "cost: 870 updates, 22,992 samples in 16 epochs (40% of a run of 40), about " in told
    assert "doubling" not in told
    assert not out.exists()


def test_a_probe_prints_its_table_and_draws_it(tmp_path, capsys):
    plot = tmp_path / "probe.svg"
    assert main(["probe", "digits", *QUICK, "--plot", str(plot)]) == 0
    told = capsys.readouterr().out
    assert "cost: 630 updates" in told
    assert "doubling is free up to 32, the largest tried" in told
    assert "proposed: CBS-6-2 from 16 to 32" in told
    assert plot.read_text().startswith("<?xml")


def test_a_picture_that_cannot_be_drawn_is_refused_before_anything_is_trained(
    tmp_path, capsys, monkeypatch
):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert main(["probe", "digits", *QUICK, "--plot", str(tmp_path / "probe.svg")]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err == "rebatch: a picture needs matplotlib: pip install 'rebatch[plot]'\n"


def test_json_goes_to_standard_output_alone(capsys):
    assert main(["probe", "digits", *QUICK, "--json"]) == 0
    out, err = capsys.readouterr()
    found = json.loads(out)
    assert found["critical_batch_size"] == 32
    assert [level["batch_size"] for level in found["levels"]] == [16, 32]
    assert "cost: " in err


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (["--rate", "cubic"], "rate must be one of linear, sqrt, constant, got 'cubic'"),
        (["--largest", "1024"], "largest must give a branch at least 8 updates, got 2 with 1024"),
        (["--warm-up", "x"], "warm-up must be a whole number of at least 1, got 'x'"),
        (["--warm-up", "0%"], "warm-up must be a finite number above 0, got 0.0"),
        (["--plot", "probe.jpg"], "plot must end in .png or .svg, got 'probe.jpg'"),
        (["--resume"], "resume must be given with --out, the probe's folder, got none"),
        (["--tolerance", "-1"], "tolerance must be a finite number of at least 0, got -1.0"),
        (["--device", "tpu9"], "device must be auto, cpu or a device here"),
    ],
)
def test_wrong_input_is_one_line(wrong, said, capsys):
    assert main(["probe", "digits", *wrong]) == 2
    assert capsys.readouterr().err.startswith(f"rebatch: {said}")
