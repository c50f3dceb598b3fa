from pathlib import Path

import pytest

from rebatch.records import write_json
from rebatch.report._comparison import allowance, columns_of, is_in_a_table
from rebatch.report._runs import read_groups


def write_run(root: Path, recipe: str, schedule: str, seed: int = 0, **values) -> None:
    result = {
        "recipe": recipe,
        "schedule": schedule,
        "seed": seed,
        "variant": None,
        "overrides": [],
        "updates": 1_000,
        "seconds": 90.0,
        "device": "NVIDIA H200",
        "final": {"test_perplexity": 80.0},
        "ensemble": None,
        **values,
    }
    folder = root / f"{recipe} {schedule} {result['variant']} {result['overrides']} {seed}"
    write_json(folder / "run.json", {})
    write_json(folder / "result.json", result)


def texts(root: Path, table: str, recipe: str) -> dict[str, list[str]]:
    """The cells of a column of a table, by what stands first in their line."""
    found = columns_of(table, read_groups(root))[recipe]
    return {line.name: line.texts()[1:] for line in found}


def test_a_line_tells_figure_paper_difference_seeds_updates_saving_and_time(tmp_path):
    for seed, value in enumerate((79.0, 80.0, 81.0)):
        final = {"test_perplexity": value}
        seconds = 60.0 + 30 * seed
        write_run(tmp_path, "l1-ptb", "BL", seed, updates=4_000)
        write_run(tmp_path, "l1-ptb", "CBS-10", seed, final=final, seconds=seconds)
    found = texts(tmp_path, "language", "l1-ptb")
    assert found["CBS-10"] == [
        *("80.00 ± 1.00", "80.49", "−0.49", "3", "1,000", "49,000", "75 %", "1.5 min")
    ]
    assert found["BL"][6] == ""


def test_what_was_not_run_is_said(tmp_path):
    write_run(tmp_path, "l1-ptb", "BL")
    found = texts(tmp_path, "language", "l1-ptb")
    assert found["CBS-1-T"] == ["not run", "81.82", "", "", "", "46,000", "", ""]
    assert found["control: BL, base-batch"] == ["not run", *[""] * 7]


def test_controls_stand_right_after_the_cell_they_ask_about(tmp_path):
    write_run(tmp_path, "l1-ptb", "BL")
    groups = read_groups(tmp_path)
    assert [line.name for line in columns_of("language", groups)["l1-ptb"]][:7] == [
        "BL",
        "control: plateau",
        "CBS-10",
        "control: BL, base-batch",
        "control: equal-noise",
        "control: equal-updates",
        "CBS-5",
    ]
    names = [line.name for line in columns_of("ensemble-language", groups)["l1-ptb"]]
    assert names == [
        "BL, snapshots-as-CBS-5",
        "BL, snapshots-as-CBS-5, ensemble",
        "CBS-10-A, step-snapshots, ensemble",
        "control: CBS-5, ensemble",
    ]
    names = [line.name for line in columns_of("initialization", groups)["c1-initialization"]]
    assert names[:3] == ["BL", "control: constant-rate", "control: divided-at-75"]


def test_a_control_that_was_run_has_its_figure(tmp_path):
    final = {"test_perplexity": 80.34}
    write_run(tmp_path, "l1-ptb", "BL", updates=50_000)
    write_run(tmp_path, "l1-ptb", "BL", variant="base-batch", final=final, updates=100_000)
    found = texts(tmp_path, "language", "l1-ptb")
    assert found["control: BL, base-batch"] == [
        *("80.34", "", "", "one seed", "100,000", "", "−100 %", "1.5 min")
    ]


def test_the_papers_second_figures_stand_below_the_first(tmp_path):
    best = {"test_perplexity": 110.0}
    final = {"test_perplexity": 130.0}
    write_run(tmp_path, "l1p-ptb", "BL", final=final, best_on_test=best)
    accuracies = {"test_accuracy": 55.0, "train_accuracy": 100.0}
    write_run(tmp_path, "c4-cifar10", "BL", final=accuracies)
    found = texts(tmp_path, "overfit-language", "l1p-ptb")
    assert found["BL, best epoch on test"][:3] == ["110.00", "108.4", "+1.60"]
    found = texts(tmp_path, "cifar10-overfit", "c4-cifar10")
    assert found["BL, training accuracy"][:3] == ["100.00", "94.35", "+5.65"]


def test_an_ensemble_that_the_paper_does_not_print_stands_below_its_run(tmp_path):
    final, ensemble = {"test_accuracy": 86.5}, {"test_accuracy": 86.9}
    write_run(tmp_path, "c1-cifar10", "CBS-5-3", final=final, ensemble=ensemble)
    write_run(tmp_path, "c3-cifar10", "CBS-15-2", final=final, ensemble=ensemble)
    found = texts(tmp_path, "cifar10", "c1-cifar10")
    assert found["CBS-5-3, ensemble"][:3] == ["86.90", "", ""]
    assert "CBS-10-3, ensemble" not in found
    assert "CBS-15-2, ensemble" not in texts(tmp_path, "cifar10", "c3-cifar10")
    assert texts(tmp_path, "ensemble-cifar10", "c3-cifar10")["CBS-15-2, ensemble"][1] == "93.56"


def test_where_snapshots_are_taken_does_not_change_what_a_final_figure_is(tmp_path):
    snapshots = {"test_perplexity": 79.5}
    write_run(tmp_path, "l1-ptb", "CBS-10-A", variant="step-snapshots", ensemble=snapshots)
    write_run(tmp_path, "l1-ptb", "BL", ensemble={"test_perplexity": 1.0})
    assert texts(tmp_path, "language", "l1-ptb")["CBS-10-A"][0] == "80.00"
    ensembles = texts(tmp_path, "ensemble-language", "l1-ptb")
    assert ensembles["BL, snapshots-as-CBS-5"][0] == "80.00"
    assert ensembles["BL, snapshots-as-CBS-5, ensemble"][0] == "not run"
    assert ensembles["CBS-10-A, step-snapshots, ensemble"][0] == "79.50"


def test_the_cells_own_runs_come_before_others_that_train_alike(tmp_path):
    write_run(tmp_path, "l1-ptb", "BL", variant="snapshots-as-CBS-5")
    write_run(tmp_path, "l1-ptb", "BL", final={"test_perplexity": 83.0})
    assert texts(tmp_path, "language", "l1-ptb")["BL"][0] == "83.00"


def test_changed_fields_take_a_run_out_of_the_tables(tmp_path):
    write_run(tmp_path, "l1-ptb", "BL", overrides=["epochs=1"])
    write_run(tmp_path, "l1-ptb", "AUTO")
    write_run(tmp_path, "l1-ptb", "BL", variant="plateau")
    write_run(tmp_path, "digits", "AUTO")
    changed = {(g.recipe, g.name): is_in_a_table(g) for g in read_groups(tmp_path)}
    assert changed == {
        ("l1-ptb", "BL (epochs=1)"): False,
        ("l1-ptb", "AUTO"): True,
        ("l1-ptb", "BL (plateau)"): True,
        ("digits", "AUTO"): False,
    }


def test_schedules_that_the_paper_does_not_have_stand_below_their_column(tmp_path):
    write_run(tmp_path, "l1-ptb", "BL", updates=2_000)
    write_run(tmp_path, "l1-ptb", "AUTO", ensemble={"test_perplexity": 79.0})
    lines = columns_of("language", read_groups(tmp_path))["l1-ptb"]
    assert [line.name for line in lines[-3:]] == ["CBS-1-T", "AUTO", "AUTO, ensemble"]
    assert lines[-2].texts()[1:] == ["80.00", "", "", "one seed", "1,000", "", "50 %", "1.5 min"]
    assert lines[-1].texts()[1] == "79.00"
    names = [line.name for line in columns_of("ensemble-language", read_groups(tmp_path))["l1-ptb"]]
    assert "AUTO" not in names


@pytest.mark.parametrize(
    ("values", "differs"),
    [([81.48], False), ([81.50], True), ([80.5, 80.6, 80.7], False), ([80.8, 80.85, 80.9], True)],
)
def test_a_difference_stands_out_beyond_the_spread_or_the_rule_of_thumb(tmp_path, values, differs):
    for seed, value in enumerate(values):
        write_run(tmp_path, "l1-ptb", "CBS-10", seed, final={"test_perplexity": value})
    found = columns_of("language", read_groups(tmp_path))["l1-ptb"]
    (line,) = [line for line in found if line.name == "CBS-10"]  # the paper has 80.49
    assert line.differs is differs


def test_the_spread_allows_for_the_papers_being_a_single_run():
    assert allowance([90.0], "test_accuracy") == 0.6
    assert allowance([90.0, 92.0], "test_accuracy") == pytest.approx(3.4641, abs=1e-4)


def test_an_ensemble_of_one_is_not_called_not_run(tmp_path):
    alone = {"members": ["cycle-000"], "test_perplexity": 80.0}
    write_run(tmp_path, "l1-ptb", "BL", variant="snapshots-as-CBS-5", ensemble=alone)
    found = texts(tmp_path, "ensemble-language", "l1-ptb")
    assert found["BL, snapshots-as-CBS-5, ensemble"][0] == "one member"
