from pathlib import Path
from urllib.parse import quote

import pytest

from rebatch.records import LineLog, write_json
from rebatch.report._results import results_page, table_rows, verdict
from rebatch.report._runs import read_groups
from rebatch.report._table import Cell


def write_run(root: Path, code: str, seed: int, perplexity: float = 0.0, **values) -> None:
    folder = root / f"{code} {seed}"
    result = {
        "recipe": "l1-ptb",
        "schedule": code,
        "seed": seed,
        "variant": None,
        "overrides": [],
        "updates": 51_792 if code == "BL" else 25_896,
        "final": {"test_perplexity": perplexity, "train_perplexity": 40.0 + seed},
        "best": {
            "by": "valid_perplexity",
            "test_perplexity": perplexity - 0.5,
            "optimistic": False,
        },
        "ensemble": {"members": ["cycle-000", "final"], "test_perplexity": perplexity - 2},
        **values,
    }
    write_json(folder / "run.json", {})
    write_json(folder / "result.json", result)
    with LineLog(folder / "metrics.jsonl") as log:
        for epoch in range(4):
            log.write(
                {
                    "kind": "epoch",
                    "epoch": epoch,
                    "update": 10 * (epoch + 1),
                    "cycle": epoch // 2,
                    "batch_size": 10 * (1 + epoch % 2),
                    "train_loss": 5.0 - epoch,
                    "test_perplexity": 100.0 - epoch + seed,
                }
            )


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    for seed, (baseline, cycles) in enumerate([(82.0, 80.0), (83.0, 81.0)]):
        write_run(tmp_path, "BL", seed, baseline)
        write_run(tmp_path, "CBS-10", seed, cycles)
    return tmp_path


def test_the_table_holds_means_deviations_and_saved_updates(runs):
    plain = [
        [cell.value if isinstance(cell, Cell) else cell for cell in row]
        for row in table_rows(read_groups(runs), "test_perplexity")
    ]
    assert plain == [
        ["BL", "82.50 ± 0.71", "80.50 ± 0.71", 51_792, "", 2],
        ["CBS-10", "80.50 ± 0.71", "78.50 ± 0.71", 25_896, "50 %", 2],
    ]


def test_the_lowest_perplexity_and_the_highest_accuracy_stand_out(runs, tmp_path):
    rows = table_rows(read_groups(runs), "test_perplexity")
    assert [isinstance(row[1], Cell) for row in rows] == [False, True]
    other = tmp_path / "other"
    for code, accuracy in (("BL", 87.0), ("CBS-5", 86.0)):
        write_run(other, code, 0, recipe="c1", final={"test_accuracy": accuracy})
    rows = table_rows(read_groups(other), "test_accuracy")
    assert [isinstance(row[1], Cell) for row in rows] == [True, False]


def test_the_verdict_tells_gain_spread_and_cost(runs):
    assert verdict(read_groups(runs), "test_perplexity") == (
        "The best schedule besides the baseline, CBS-10, is 2.00 better than BL (test perplexity; "
        "from seed to seed the baseline itself spreads 1.00) with 50 % of its updates."
    )


def test_a_loss_is_said_as_it_is(tmp_path):
    write_run(tmp_path, "BL", 0, 80.0)
    write_run(tmp_path, "CBS-10", 0, 81.5)
    assert "is 1.50 worse than BL" in verdict(read_groups(tmp_path), "test_perplexity")


def test_without_a_baseline_there_is_no_verdict(tmp_path):
    write_run(tmp_path, "CBS-10", 0, 81.5)
    assert verdict(read_groups(tmp_path), "test_perplexity") == ""
    assert results_page(tmp_path)


def test_the_page_shows_final_best_and_training_figures(runs):
    page = results_page(runs, "Results")
    for text in ("82.50 ± 0.71", "80.00 ± 0.71", "40.50 ± 0.71", "l1-ptb: test perplexity"):
        assert text in page
    assert "optimistic" not in page


def test_a_best_epoch_that_the_test_set_picked_is_marked(tmp_path):
    best = {"by": "test_accuracy", "test_accuracy": 88.0, "optimistic": True}
    final = {"test_accuracy": 87.0, "train_accuracy": 99.0}
    write_run(tmp_path, "BL", 0, recipe="c1-cifar10", final=final, best=best, ensemble=None)
    page = results_page(tmp_path)
    assert "optimistic: the epoch is picked by the test set" in page
    assert "99.00" in page


def test_names_from_records_cannot_write_html(tmp_path):
    evil = "<script>alert(1)</script>"
    write_run(tmp_path, "BL", 0, 80.0, recipe=evil)
    write_run(tmp_path, "CBS-10", 0, 80.0, recipe=evil, overrides=["name=<img src=x>"])
    page = results_page(tmp_path, evil)
    assert evil not in page
    assert "<img src=x>" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page


def test_runs_of_several_recipes_have_a_heading_each(tmp_path):
    for recipe in ("digits", "e1-sick"):
        write_run(tmp_path / recipe, "BL", 0, 80.0, recipe=recipe)
    page = results_page(tmp_path)
    assert page.count("<h2 ") == 2


def test_the_paper_tables_that_were_begun_are_shown_and_the_others_named(runs):
    page = results_page(runs)
    assert page.count('<h2 id="language-models-test-perplexity">') == 1
    assert page.count("<h2 ") == 2  # and the recipe's own
    assert "Nothing was run yet of: Natural-language inference" in page
    for text in ("not run", "control: equal-noise", "control: BL, base-batch", "l2-wikitext2"):
        assert text in page


def test_a_difference_that_stands_out_says_why(runs):
    write_run(runs, "CBS-5", 0, 82.0)  # the paper has 80.78
    page = results_page(runs)
    assert 'title="one seed: more than 1.00, a rule of thumb">+1.22<' in page


def test_the_file_of_a_paper_table_holds_a_number_in_each_column(runs):
    page = results_page(runs)
    head = "schedule,mean,deviation,paper,difference,seeds,updates,paper's updates,"
    assert quote(f'{head}"saved, %",seconds,engine\r\n') in page
    assert quote("\r\nBL,82.5,0.7071,83.13,-0.63,2,51792,52000,,") in page
    assert quote("\r\nCBS-10,80.5,0.7071,80.49,0.01,2,25896,49000,50.0,") in page
    assert quote("\r\nCBS-1-T,,,81.82,,,,46000,,,\r\n") in page
    assert ">82.50 ± 0.71<" in page
    assert ">50 %<" in page


def test_runs_are_compared_with_the_baseline_of_their_settings(tmp_path):
    write_run(tmp_path, "BL", 0, 90.0, overrides=["epochs=1"], updates=1_000)
    write_run(tmp_path, "BL", 1, 82.0)
    write_run(tmp_path, "CBS-10", 0, 80.0)
    groups = read_groups(tmp_path)
    saved = {row[0]: row[4] for row in table_rows(groups, "test_perplexity")}
    assert saved == {"BL": "", "CBS-10": "50 %", "BL (epochs=1)": ""}
    said = verdict(groups, "test_perplexity")
    assert "CBS-10, is 2.00 better than BL (" in said
    assert "with 50 % of its updates" in said


def test_runs_that_did_not_finish_are_named(runs):
    about = {"recipe": "l1-ptb", "schedule": "CBS-5", "seed": 3, "variant": None}
    write_json(runs / "x" / "run.json", {**about, "status": "failed", "error": "<no number>"})
    page = results_page(runs)
    assert "not in here: l1-ptb CBS-5 seed 3 (failed: &lt;no number&gt;)" in page
