import json
import shutil

import pytest

from rebatch.errors import RunError
from rebatch.records import read_json, write_json
from rebatch.report import _decisions
from rebatch.report._curves import curves, sizes
from rebatch.report._decisions import decision_rows, decision_sections, shown_rows
from rebatch.report._results import results_page
from rebatch.report._runs import read_groups


def test_every_seed_that_decided_itself_is_a_curve(adaptive):
    chart = curves(read_groups(adaptive), "test_accuracy", "update")
    assert [series.name for series in chart.series] == ["AUTO, seed 0", "AUTO, seed 1"]
    assert list(chart.series[0].x) == [100, 200, 250, 275, 375, 425]
    assert chart.series[0].low is None


def test_of_many_seeds_that_decided_themselves_two_are_drawn_and_that_is_said(adaptive):
    said = "Of a schedule that adapts the curves show the first 2 seeds."
    assert said not in results_page(adaptive)
    folder = adaptive / "digits" / "AUTO"
    shutil.copytree(folder / "seed1", folder / "seed2")
    write_json(
        folder / "seed2" / "result.json", read_json(folder / "seed1/result.json") | {"seed": 2}
    )
    chart = curves(read_groups(adaptive), "test_accuracy", "update")
    assert [series.name for series in chart.series] == ["AUTO, seed 0", "AUTO, seed 1"]
    assert said in results_page(adaptive)
    assert len({row[0] for row in decision_rows(read_groups(adaptive))}) == 3


@pytest.mark.parametrize(("against", "places"), [("update", [100, 200]), ("epoch", [1, 2])])
def test_a_decision_stands_on_the_curve_where_the_size_changes(adaptive, against, places):
    chart = curves(read_groups(adaptive), "test_accuracy", against)
    rings = [mark for mark in chart.marks if mark.on_curve and mark.series == "AUTO, seed 0"]
    assert [mark.at for mark in rings][:2] == places
    assert [mark.label for mark in rings] == ["", *["batch size decided"] * 3]


def test_the_note_tells_when_what_why_and_on_which_gauges(adaptive):
    chart = sizes(read_groups(adaptive), "epoch")
    notes = [mark.note for mark in chart.marks]
    assert notes[1] == (
        "10 → 20, after epoch 2, update 200: noise scale 84 is above 2 x 40: doubling is free "
        "[noise scale 84, train loss 2.25]"
    )
    assert notes[0] == "stays at 10: noise scale 84 is above 2 x 40: doubling is free"
    assert notes[3].startswith("40 → 10, a cycle ends, after epoch 4, update 275: noise scale 84")


def test_the_table_holds_every_decision_of_every_seed(adaptive):
    rows = decision_rows(read_groups(adaptive))
    assert len(rows) == 8
    why = "noise scale 84 is above 2 x 40: doubling is free"
    assert rows[1] == [
        *("AUTO, seed 0", 2.0, 200, 10, 20, 1.0, "", 1.0, why, "noise scale 84, train loss 2.25")
    ]
    assert rows[7][:7] == ["AUTO, seed 1", 4.0, 275, 40, 10, 1.0, "yes"]
    table, saved = decision_sections(read_groups(adaptive))
    assert table.caption == "Decisions: when, why, and on which gauges"
    why = "noise scale 84 is above 2 x 40: doubling is free"
    assert table.rows[3] == [
        "AUTO, seed 0",
        4,
        275,
        "40 → 10, a cycle ends",
        why,
        "annealed loss 1.5",
    ]
    assert saved.text.count("\r\n") == 9


def test_a_changed_rate_is_told(adaptive):
    path = adaptive / "digits" / "AUTO" / "seed0" / "metrics.jsonl"
    path.write_text(path.read_text().replace('"rate_factor": 1.0', '"rate_factor": 2.5'))
    assert shown_rows(read_groups(adaptive))[1][1][3] == "10 → 20, rate × 2.5"


def test_of_many_decisions_those_are_shown_that_changed_something(adaptive, monkeypatch):
    monkeypatch.setattr(_decisions, "MOST_ROWS", 7)
    caption, rows = shown_rows(read_groups(adaptive))
    assert caption == "The 6 of 8 decisions that changed the batch size"
    assert [row[1] for row in rows] == [2, 3, 4, 2, 3, 4]


def test_the_mean_of_the_seeds_updates_is_told(adaptive):
    (group,) = read_groups(adaptive)
    assert group.updates == 426  # 425.5
    assert group.is_adaptive


def test_the_reason_of_a_decision_cannot_write_html(hostile):
    page = results_page(hostile)
    assert "<img src=x" not in page
    assert "<script>window.broken" not in page
    assert "&lt;script&gt;window.broken = 1&lt;/script&gt;" in page


@pytest.mark.parametrize(
    ("name", "value"), [("update", None), ("next_batch_size", 0), ("batch_size", "x")]
)
def test_a_decision_without_its_place_is_named(adaptive, name, value):
    path = adaptive / "digits" / "AUTO" / "seed0" / "metrics.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    broken = [{**line, name: value} if line["kind"] == "decision" else line for line in lines]
    path.write_text("".join(json.dumps(line) + "\n" for line in broken))
    with pytest.raises(RunError, match=rf"not the log of a run: the {name} of a decision is "):
        results_page(adaptive)


def test_gauges_that_are_no_figures_are_left_out(adaptive):
    path = adaptive / "digits" / "AUTO" / "seed0" / "metrics.jsonl"
    text = path.read_text().replace('"noise_scale": 84.0', '"noise_scale": "84", "a": null')
    path.write_text(text)
    assert decision_rows(read_groups(adaptive))[1][-1] == "train loss 2.25"


def test_a_decision_inside_an_epoch_is_placed_between_its_ends(adaptive):
    (group,) = read_groups(adaptive)
    run = group.runs[0]
    assert [run.epochs_at(update) for update in (0, 50, 100, 225, 425)] == [0, 0.5, 1, 2.5, 6]
