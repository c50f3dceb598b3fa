import pytest

from rebatch.sweeps._paper import CONTROLS, FIGURES, PaperCell, run_of


@pytest.mark.parametrize(
    ("recipe", "schedule", "variant"),
    [
        ("l1-ptb", "BL", "snapshots-as-CBS-5"),
        ("l1-wikitext2", "BL", "snapshots-as-CBS-5"),
        ("l2-ptb", "BL", "snapshots-as-CBS-1-T"),
        ("l2-wikitext2", "BL", "snapshots-as-CBS-1"),
        ("l1-ptb", "CBS-10-A", "step-snapshots"),
        ("l2-ptb", "CBS-1-T", None),
    ],
)
def test_an_ensemble_is_filled_by_a_run_that_has_snapshots(recipe, schedule, variant):
    run = run_of(PaperCell(recipe, schedule, None, "ensemble"), 0)
    assert run.variant == variant
    snapshots = run.case.recipe.snapshot_epochs or run.plan.cycle_ends
    assert snapshots or run.case.recipe.snapshot_at == "step-end"


def test_a_final_figure_is_filled_by_the_cell_itself():
    run = run_of(PaperCell("c1-initialization", "CBS-10-3", "constant-rate"), 2)
    assert run.label == "c1-initialization CBS-10-3 constant-rate seed 2"


@pytest.mark.parametrize("table", CONTROLS)
def test_every_control_can_be_run(table):
    for cell in CONTROLS[table]:
        assert run_of(cell, 0).plan.updates > 0


def test_the_curves_are_of_a_baseline_and_a_cycle_each():
    pairs = [(cell.recipe, cell.schedule == "BL") for cell in FIGURES]
    assert pairs == [
        (recipe, is_baseline)
        for recipe in ("l2-ptb", "l2-wikitext2", "l2p-ptb", "c2-cifar10", "i1-imagenet")
        for is_baseline in (True, False)
    ]
