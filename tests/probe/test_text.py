import io

import pytest
from rich.console import Console

from rebatch.probe import design, judge
from rebatch.probe._text import announce, conclusions, table
from rebatch.recipes import find

DESIGN = design(find("digits"), largest=128)


def verdict(*losses: float | None, made=DESIGN, held_out=None):
    records = [
        {
            "batch_size": size,
            "repeat": repeat,
            "updates": 9,
            "loss": loss,
            "held_out": held_out or {},
        }
        | {"gradient_signal": 1.0, "gradient_variance": 40.0}
        for size, loss in zip(made.sizes, losses, strict=True)
        for repeat in range(2)
    ]
    return judge(made, records)


def test_the_cost_is_told():
    assert announce(DESIGN, 75.0) == (
        "digits: 4 epochs of warm-up at 16, then 12 branches of 1 epoch, 3 at each of "
        "16, 32, 64, 128; the learning rate grows as the square root\n"
        "cost: 870 updates, 22,992 samples in 16 epochs (40% of a run of 40), about 75 s here"
    )


def test_the_table_has_a_line_a_size():
    console = Console(width=100, record=True, file=io.StringIO())
    console.print(table(verdict(1.0, 0.98, 2.0, None, held_out={"valid_loss": 4.0})))
    lines = [" ".join(line.split()) for line in console.export_text().splitlines()]
    assert "batch size updates rate training loss difference free valid loss" in lines
    assert "16 9 x 1 1.0000 – base 4.0000" in lines
    assert "32 9 x 1.41 0.9800 -0.0200 yes 4.0000" in lines
    assert "64 9 x 2 2.0000 +1.0000 no 4.0000" in lines
    assert "128 9 x 2.83 lost its numbers – no 4.0000" in lines


def test_the_limit_and_a_code_follow():
    *_, noise, limit, proposal = conclusions(verdict(1.0, 1.0, 2.0, 9.0))
    assert noise == "gradient noise scale of the base branches: 40 samples"
    assert limit == "doubling is free up to 32 and no longer at 64"
    assert proposal == (
        "proposed: CBS-6-2 from 16 to 32: a step for each free size, 3 cycles in 40 epochs"
    )


@pytest.mark.parametrize(
    ("losses", "said"),
    [
        ((1.0, 1.0, 1.0, 1.0), "doubling is free up to 128, the largest tried: see --largest"),
        ((1.0, 2.0, 2.0, 2.0), "not even the first doubling, to 32, is free"),
    ],
)
def test_limits_beyond_what_was_tried_are_said(losses, said):
    assert said in list(conclusions(verdict(*losses)))


def test_where_nothing_is_free_the_baseline_is_proposed():
    *_, proposal = conclusions(verdict(1.0, 2.0, 2.0, 2.0))
    assert proposal.startswith("proposed: BL")


def test_the_tolerance_is_told_by_the_spread():
    made = judge(
        DESIGN,
        [
            {"batch_size": size, "repeat": repeat, "updates": 9, "loss": 1.0 + repeat / 10}
            for size in DESIGN.sizes
            for repeat in range(2)
        ],
    )
    first, *_ = conclusions(made)
    assert first == "tolerance 0.1414: 2 x the spread between repeats of the base, 0.0707"


def test_a_tolerance_that_is_the_least_one_says_so():
    first, *_ = conclusions(verdict(1.0, 1.0, 2.0, 9.0))
    assert first == "tolerance 0.0050: half a per cent of the base's loss, for repeats differ less"


def test_of_text_the_noise_scale_counts_columns():
    made = design(find("l1-ptb"), largest=20)
    assert "gradient noise scale of the base branches: 40 columns" in list(
        conclusions(verdict(1.0, 1.0, made=made))
    )
