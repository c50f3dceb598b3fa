import platform
import sys

import pytest

from rebatch.cli import main
from rebatch.recipes import DEMO, case, override
from rebatch.recipes._run import run
from rebatch.records import RunFolder, write_json


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
        (["digits", "--rates", "x"], "rebatch: rates must come with --dry-run, got x"),
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


def dry_run(capsys, *words):
    """The lines that a dry run prints, each cut into words."""
    assert main(["sweep", *words, "--dry-run"]) == 0
    return [line.split() for line in capsys.readouterr().out.splitlines()]


def test_a_dry_run_says_what_would_be_run_and_makes_nothing(tmp_path, capsys):
    chosen = ["--schedules", "BL,CBS-5", "--variants", "plain,equal-noise", "--seeds", "0,1,1"]
    words = ["digits", *chosen, "--out", str(tmp_path / "out"), "--device", "cpu"]
    head, *rows, last = dry_run(capsys, *words)
    assert head == ["recipe", "schedule", "variant", "updates", "time"]
    assert rows == [
        ["digits", "BL", "3,600", "unknown"],
        ["digits", "BL", "equal-noise", "3,600", "unknown"],
        ["digits", "CBS-5", "1,700", "unknown"],
        ["digits", "CBS-5", "equal-noise", "3,600", "unknown"],
    ]
    assert " ".join(last[:8]) == "8 runs with 2 seeds, 25,000 updates, time"
    assert not (tmp_path / "out").exists()


def test_a_dry_run_goes_by_what_is_finished_and_by_what_that_took(tmp_path, capsys):
    out, ours = str(tmp_path), {"recipe": "digits", "schedule": "BL", "variant": None}
    folder = RunFolder(tmp_path / "digits" / "BL" / "seed0")
    write_json(folder.run, {**ours, "status": "finished", "engine": "eager"})
    took = {"device": platform.machine(), "updates": 3_600, "seconds": 3_600.0}
    write_json(folder.result, {**ours, **took})
    words = ["digits", "--schedules", "BL,CBS-5", "--out", out, "--device", "cpu"]
    _, baseline, cycles, last = dry_run(capsys, *words)
    assert baseline == ["digits", "BL", "3,600", "1", "h", "00", "min"]
    assert cycles == ["digits", "CBS-5", "1,700", "28", "min", "20", "s"]
    assert " ".join(last) == (
        f"2 runs with 1 seed, 1 finished, 1,700 updates, about 28 min 20 s on {platform.machine()}"
    )


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--out", "s3://x"], "rebatch: out must be a folder of this machine for a dry run"),
        (["--out", "x", "--rates", "no"], "rebatch: rates must be a folder of runs, got no"),
        (["--out", "x", "--on", "mars"], "rebatch: on must be one of local, ray, got 'mars'"),
        (["--out", "x", "--jobs", "0"], "rebatch: jobs must be a whole number of at least 1"),
        (["--out", "x", "--gpus", "2"], "rebatch: gpus must come with --on ray, got 2"),
    ],
)
def test_a_dry_run_that_cannot_be_is_refused(capsys, words, complaint):
    assert main(["sweep", "digits", "--dry-run", *words]) == 2
    assert error(capsys).startswith(complaint)
