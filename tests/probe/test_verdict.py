import pytest

from rebatch.probe import design, judge, propose
from rebatch.recipes import find

DESIGN = design(find("digits"), largest=128)


def records(*losses: tuple[float | None, float | None], **more):
    """Two branches of each of 16, 32, 64 and 128."""
    return [
        {"batch_size": size, "repeat": repeat, "updates": 5760 // size, "loss": loss, **more}
        for size, pair in zip(DESIGN.sizes, losses, strict=True)
        for repeat, loss in enumerate(pair)
    ]


def test_the_largest_size_without_a_loss_is_the_critical_one():
    verdict = judge(DESIGN, records((1.0, 1.1), (0.9, 1.0), (1.15, 1.25), (1.4, 1.5)))
    assert verdict.spread == pytest.approx(0.1 / 2**0.5)
    assert verdict.tolerance == pytest.approx(2 * 0.1 / 2**0.5)  # 0.141
    assert [level.free for level in verdict.levels] == [True, True, False, False]
    assert [round(level.difference, 9) for level in verdict.levels] == [0, -0.1, 0.15, 0.4]
    assert (verdict.critical, verdict.is_bound, verdict.code) == (32, True, "CBS-6-2")


def test_the_tolerance_is_a_choice():
    losses = (1.0, 1.1), (0.9, 1.0), (1.15, 1.25), (1.4, 1.5)
    assert judge(DESIGN, records(*losses), times=3).critical == 64


def test_a_size_beyond_one_that_is_not_free_does_not_count():
    verdict = judge(DESIGN, records((1.0, 1.0), (2.0, 2.0), (1.0, 1.0), (1.0, 1.0)))
    assert verdict.levels[2].free
    assert verdict.critical == 16
    assert verdict.code == "BL"


def test_where_all_sizes_are_free_nothing_bounds_them():
    verdict = judge(DESIGN, records(*[(1.0, 1.01)] * 4))
    assert (verdict.critical, verdict.is_bound, verdict.code) == (128, False, "CBS-3")


def test_a_branch_that_lost_its_numbers_is_not_free():
    verdict = judge(DESIGN, records((1.0, 1.1), (1.0, 1.1), (1.0, None), (None, None)))
    assert [level.loss for level in verdict.levels[2:]] == [None, None]
    assert verdict.critical == 32


def test_wild_sizes_do_not_widen_the_tolerance():
    verdict = judge(DESIGN, records((1.0, 1.02), (1.0, 1.02), (1.5, 9.0), (0.5, 99.0)))
    assert verdict.spread == pytest.approx(0.02 / 2**0.5)
    assert verdict.critical == 32


def test_half_a_per_cent_is_no_loss_however_small_the_spread():
    verdict = judge(DESIGN, records((1.0, 1.0), (1.004, 1.004), (1.006, 1.006), (2.0, 2.0)))
    assert verdict.tolerance == pytest.approx(0.005)
    assert verdict.critical == 32


def test_the_noise_scale_is_that_of_the_base_averaged_before_it_is_divided():
    found = records(*[(1.0, 1.01)] * 4, gradient_signal=1.0, gradient_variance=500.0)
    found[0] |= {"gradient_signal": 3.0, "gradient_variance": 100.0}
    found[1] |= {"gradient_signal": -1.0, "gradient_variance": 20.0}
    assert judge(DESIGN, found).noise_scale == 60.0
    found[1] |= {"gradient_signal": -3.0}
    assert judge(DESIGN, found).noise_scale is None


def test_held_out_losses_are_averaged():
    found = records(*[(1.0, 1.01)] * 4, held_out={"valid_loss": 4.0})
    found[1] |= {"held_out": {"valid_loss": 5.0}}
    assert judge(DESIGN, found).levels[0].held_out == {"valid_loss": 4.5}


@pytest.mark.parametrize(
    ("base", "critical", "epochs", "code"),
    [
        (128, 512, 90, "CBS-10-3"),
        (128, 256, 90, "CBS-15-2"),
        (10, 80, 39, "CBS-3"),
        (32, 1024, 10, "CBS-1-6"),
        (16, 16, 40, "BL"),
    ],
)
def test_three_cycles_through_the_free_sizes_are_proposed(base, critical, epochs, code):
    assert propose(base, critical, epochs) == code
