import sys

import pytest

from rebatch.cli import main
from rebatch.recipes import DEMO, case, override
from rebatch.recipes._run import run


def error(capsys) -> str:
    """The one line on standard error."""
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    return lines[0]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["digit"], "rebatch: recipe must be one of "),
        (
            ["digits", "--schedules", "BL,"],
            "rebatch: schedules must be a list such as A,B, got 'BL,'",
        ),
        (["digits", "--schedules", "BL,CBS-0"], "rebatch: "),
        (
            ["digits", "--seeds", "0,x"],
            "rebatch: seeds must be a whole number of at least 0, got 'x'",
        ),
        (["digits", "--variants", "plain,none"], "rebatch: variant must be one of base-batch, "),
        (["digits", "--jobs", "0"], "rebatch: jobs must be a whole number of at least 1, got 0"),
        (
            ["digits", "--jobs", "many"],
            "rebatch: jobs must be a whole number of at least 1, got 'm",
        ),
        (["digits", "--on", "mars"], "rebatch: on must be one of local, ray, got 'mars'"),
        (["digits", "--set", "epoch=2"], "rebatch: field must be one of the recipe's"),
        (["digits", "--on", "ray", "--retries", "-1"], "rebatch: retries must be a whole number"),
        (["digits", "--gpus", "2"], "rebatch: gpus must come with --on ray, got 2"),
        (["digits", "--on", "ray", "--gpus", "x"], "rebatch: gpus must be a number of at least 0"),
    ],
)
def test_wrong_input_is_one_line_and_starts_nothing(tmp_path, capsys, arguments, complaint):
    assert main(["sweep", *arguments, "--out", str(tmp_path / "out")]) == 2
    assert error(capsys).startswith(complaint)
    assert not (tmp_path / "out").exists()


def test_another_store_needs_ray(capsys):
    assert main(["sweep", "digits", "--out", "memory://x"]) == 2
    assert error(capsys) == (
        "rebatch: out must be a folder of this machine without --on ray, got memory://x"
    )


def test_ray_must_be_installed(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    assert main(["sweep", "digits", "--on", "ray", "--out", str(tmp_path)]) == 2
    assert error(capsys) == "rebatch: ray must be installed, got none: pip install 'rebatch[ray]'"


def test_a_finished_sweep_is_told_again_and_starts_nothing(tmp_path, capsys):
    recipe = override(DEMO, ["epochs=1"])
    for code in ("BL", "CBS-5"):
        folder = tmp_path / "digits" / f"{code}--epochs-1" / "seed0"
        run(case(recipe, code), seed=0, out=folder, device="cpu", overrides=["epochs=1"])
    before = sorted((path, path.stat().st_mtime_ns) for path in tmp_path.rglob("*"))
    arguments = ["--schedules", "BL,CBS-5", "--set", "epochs=1", "--out", str(tmp_path)]
    assert main(["sweep", "digits", *arguments]) == 0
    said = capsys.readouterr().out.splitlines()
    assert [line.split(", ")[0] for line in said] == [
        "digits BL epochs=1 seed 0: finished",
        "digits CBS-5 epochs=1 seed 0: finished",
    ]
    assert sorted((path, path.stat().st_mtime_ns) for path in tmp_path.rglob("*")) == before
