from rebatch.sweeps._paper import FIGURES, PaperCell, run_of


def test_a_final_figure_is_filled_by_the_cell_itself():
    run = run_of(PaperCell("c1-initialization", "CBS-10-3", "constant-rate"), 2)
    assert run.label == "c1-initialization CBS-10-3 constant-rate seed 2"


def test_the_curves_are_of_a_baseline_and_a_cycle_each():
    pairs = [(cell.recipe, cell.schedule == "BL") for cell in FIGURES]
    assert pairs == [
        (recipe, is_baseline)
        for recipe in ("l2-ptb", "l2-wikitext2", "l2p-ptb", "c2-cifar10", "i1-imagenet")
        for is_baseline in (True, False)
    ]
