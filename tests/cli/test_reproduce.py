import pickle
import platform
from pathlib import Path

import numpy as np
import pytest

import rebatch
from rebatch.cli import main
from rebatch.cli.reproduce import cells_of
from rebatch.recipes import case, find, override
from rebatch.recipes._run import run
from rebatch.records import RunFolder, write_json
from rebatch.report._controls import controls
from rebatch.report._published import published
from rebatch.sweeps import Identity

TABLES = {
    "language": (40, 3_612_453),
    "overfit-language": (16, 1_291_519),
    "ensemble-language": (12, 773_038),
    "inference": (10, 870_324),
    "cifar10": (15, 582_640),
    "cifar10-overfit": (2, 176_280),
    "ensemble-cifar10": (1, 47_935),
    "adversarial": (1, 39_875),
    "initialization": (3, 76_290),
    "imagenet": (2, 713_250),
    "imagenet-ensemble": (1, 262_800),
}


def dry_run(capsys, tmp_path, *arguments: str) -> tuple[list[list[str]], str]:
    """The cells that are listed, as words, and the last line."""
    assert main(["reproduce", *arguments, "--dry-run", "--out", str(tmp_path / "out")]) == 0
    _, *lines, last = capsys.readouterr().out.splitlines()
    assert not (tmp_path / "out").exists()
    return [line.split() for line in lines], last


@pytest.mark.parametrize("table", TABLES)
def test_the_dry_run_lists_exactly_the_papers_cells(table, capsys, tmp_path):
    lines, last = dry_run(capsys, tmp_path, table)
    cells, updates = TABLES[table]
    assert len(lines) == cells
    wanted = [(cell.recipe, cell.schedule) for cell in published() if cell.table == table]
    assert [(words[0], words[1]) for words in lines] == wanted
    assert f" {updates:,} updates, time unknown on " in last


def test_one_run_gives_the_single_figure_of_a_baseline_and_its_ensemble(capsys, tmp_path):
    lines, last = dry_run(capsys, tmp_path, "ensemble-language", "--seeds", "0,1")
    assert [words[:4] for words in lines if words[0] == "l1-ptb"] == [
        ["l1-ptb", "BL", "snapshots-as-CBS-5", "final"],
        ["l1-ptb", "BL", "snapshots-as-CBS-5", "ensemble"],
        ["l1-ptb", "CBS-10-A", "step-snapshots", "ensemble"],
    ]
    assert last.startswith("12 cells, 16 runs with 2 seeds, 1,546,076 updates, ")


@pytest.mark.parametrize("table", TABLES)
def test_every_ensemble_is_filled_by_a_run_that_has_snapshots(table):
    cells = [cell for cell in published() if cell.table == table]
    for cell in [*cells, *controls(table)]:
        asked = Identity(cell.recipe, cell.schedule, 0, cell.variant)
        assert asked.plan.updates > 0
        if cell.part == "ensemble":
            recipe = asked.case.recipe
            at_steps = recipe.snapshot_at == "step-end"
            assert recipe.snapshot_epochs or asked.plan.cycle_ends or at_steps


def test_every_table_of_the_paper_has_a_name():
    assert {cell.table for cell in published()} == set(TABLES)


def test_the_updates_are_the_papers_own_counts(capsys, tmp_path):
    lines, _ = dry_run(capsys, tmp_path, "inference")
    counted = {(words[0], words[1]): int(words[-2].replace(",", "")) for words in lines}
    assert counted["e1-snli", "BL"] == 171_680  # the paper prints 172k
    assert counted["e1-snli", "CBS-1-A"] == 67_064  # 67k


def test_the_figures_are_ten_curves(capsys, tmp_path):
    lines, last = dry_run(capsys, tmp_path, "figures")
    assert [words[1] for words in lines] == [
        *("BL", "CBS-1-T", "BL", "CBS-1", "BL", "CBS-1-A", "BL", "CBS-10-3", "BL", "CBS-10-3")
    ]
    assert last.startswith("10 cells, 10 runs with 1 seed, ")


@pytest.mark.parametrize(
    ("table", "more"),
    [
        *[("language", 16), ("cifar10", 9), ("initialization", 2), ("ensemble-language", 1)],
        *[("ensemble-cifar10", 1), ("imagenet-ensemble", 1)],
    ],
)
def test_controls_stand_beside_the_cells(table, more, capsys, tmp_path):
    lines, _ = dry_run(capsys, tmp_path, table, "--controls")
    assert len(lines) == TABLES[table][0] + more
    assert len({tuple(words) for words in lines}) == len(lines)


def test_seeds_multiply_the_runs_not_the_cells(capsys, tmp_path):
    lines, last = dry_run(capsys, tmp_path, "initialization", "--seeds", "0,1,2")
    assert len(lines) == 3
    assert last.startswith("3 cells, 9 runs with 3 seeds, 228,870 updates, ")


def test_finished_runs_and_seeds_named_twice_are_not_counted(capsys, tmp_path):
    words = ["cifar10-overfit", "--seeds", "0,0", "--out", str(tmp_path)]
    folder = RunFolder(tmp_path / "c4-cifar10" / "BL" / "seed0")
    record = {"recipe": "c4-cifar10", "schedule": "BL", "variant": None, "overrides": []}
    write_json(folder.run, record | {"status": "finished"})
    write_json(folder.result, record | {"device": "x", "updates": 120_000, "seconds": 1.0})
    killed = RunFolder(tmp_path / "c4-cifar10" / "CBS-15" / "seed0")  # in its last moments
    write_json(killed.run, record | {"schedule": "CBS-15", "status": "running"})
    write_json(killed.result, record | {"schedule": "CBS-15", "updates": 56_280})
    assert main(["reproduce", *words, "--dry-run"]) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith("2 cells, 2 runs with 1 seed, 1 finished, 56,280 updates, ")


def test_a_time_is_told_where_one_was_measured_on_this_device(capsys, tmp_path):
    record = {"recipe": "c4-cifar10", "schedule": "BL", "variant": None, "overrides": []}
    folder = RunFolder(tmp_path / "rates" / "run")
    write_json(folder.run, record)
    measured = {"device": platform.machine(), "updates": 120_000, "seconds": 1_200.0}
    write_json(folder.result, record | measured)
    rates = ["--rates", str(tmp_path / "rates"), "--device", "cpu"]
    lines, last = dry_run(capsys, tmp_path, "cifar10-overfit", *rates)
    assert lines[0][-4:] == ["20", "min", "00", "s"]
    assert lines[1][-4:] == ["9", "min", "23", "s"]  # 56,280 updates of 10 ms
    assert f"about 29 min 23 s on {platform.machine()}" in last


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["tables"], "rebatch: table must be one of language, inference, "),
        (["language", "--seeds", "0,"], "rebatch: seeds must be a list such as A,B, got '0,'"),
        (["inference", "--controls"], "rebatch: controls must be asked for with a table that has"),
        (
            ["language", "--dry-run", "--rates", "no"],
            "rebatch: rates must be a folder of runs, got no",
        ),
        (["language", "--out", "s3://x"], "rebatch: out must be a folder of this machine"),
    ],
)
def test_wrong_input_is_one_line(arguments, complaint, capsys):
    assert main(["reproduce", *arguments]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    assert lines[0].startswith(complaint)


def test_cells_keep_the_part_they_are_about():
    parts = [cell.part for cell in cells_of("ensemble-language")]
    assert parts == ["final"] * 4 + ["ensemble"] * 8
    assert {cell.part for cell in cells_of("language")} == {"final"}


SHORT = ["baseline_batch_size=4", "cyclical_batch_size=4", "epochs=1"]


@pytest.fixture
def baseline(tmp_path) -> Path:
    """The finished baseline of a table with two cells, on 24 images."""
    data = tmp_path / "data" / "cifar-10-batches-py"
    data.mkdir(parents=True)
    draws = np.random.RandomState(0)
    for name in (*(f"data_batch_{number}" for number in range(1, 6)), "test_batch"):
        labels = [int(label) for label in draws.randint(0, 10, 4)]
        images = draws.randint(0, 256, (4, 3072)).astype(np.uint8)
        (data / name).write_bytes(pickle.dumps({b"data": images, b"labels": labels}, protocol=2))
    folder = "BL--baseline_batch_size-4--cyclical_batch_size-4--epochs-1"
    out = tmp_path / "out"
    run(
        case(override(find("c4-cifar10"), SHORT), "BL"),
        seed=0,
        out=out / "c4-cifar10" / folder / "seed0",
        device="cpu",
        overrides=SHORT,
        data_root=data.parent,
    )
    return out


def test_the_page_is_written_even_where_a_run_failed(baseline, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(Path(rebatch.__file__).parent.parent))
    changed = [part for setting in SHORT for part in ("--set", setting)]
    where = ["--out", str(baseline), "--data", str(tmp_path / "none"), "--device", "cpu"]
    assert main(["reproduce", "cifar10-overfit", *changed, *where, "--jobs", "1"]) == 1
    said, error = capsys.readouterr()
    assert said.splitlines()[-1] == str(baseline / "report.html")
    assert error.startswith("rebatch: 1 run failed: c4-cifar10 CBS-15 ")
    page = (baseline / "report.html").read_text()
    assert "c4-cifar10" in page


def test_the_page_needs_a_folder_wherever_the_runs_are_made(capsys):
    arguments = ["reproduce", "adversarial", "--on", "ray", "--out", "s3://bucket/x"]
    assert main(arguments) == 2
    assert capsys.readouterr().err == (
        "rebatch: out must be a folder of this machine for the page to be written to, "
        "got s3://bucket/x\n"
    )
