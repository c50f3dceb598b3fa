import math
from itertools import pairwise

import pytest

from rebatch.policies import Outlook, Seen, auto


def constant(**measured):
    """Every row gives the same."""
    return lambda decision, epoch: {"train_loss": 1.0, **measured}


def falling(share, **measured):
    """The loss falls by a share of itself every epoch."""
    return lambda decision, epoch: {"train_loss": 5 * (1 - share) ** epoch, **measured}


def reasons(decisions):
    """The reasons for the sizes that are not those of the row before."""
    return [new.reason for old, new in pairwise(decisions) if new.batch_size != old.batch_size]


class TestOneCycle:
    """Forty epochs are one cycle."""

    def test_under_much_noise_it_is_the_papers_cycle_with_even_steps(self, follow, stairs):
        seen, decisions = follow(auto(10), 40, falling(0.05, noise_scale=500.0), examples=8000)
        assert stairs(seen) == [(10, 10), (20, 10), (40, 10), (80, 10)]
        assert reasons(decisions) == [
            "0.5 x noise scale 500 is above 20: growing is free",
            "0.5 x noise scale 500 is above 40: growing is free",
            "0.5 x noise scale 500 is above 80: growing is free",
        ]

    def test_without_a_noise_scale_it_is_the_papers_cycle_too(self, follow, stairs):
        seen, decisions = follow(auto(10), 40, falling(0.05), examples=8000)
        assert stairs(seen) == [(10, 10), (20, 10), (40, 10), (80, 10)]
        assert reasons(decisions)[0] == (
            "no noise scale to go by: the paper's cycle, in even steps"
        )

    def test_it_climbs_to_8_times_the_base_only_where_the_noise_at_the_base_allows_it(
        self, follow, stairs
    ):
        seen, _ = follow(auto(10), 40, falling(0.05, noise_scale=160.0), examples=8000)
        assert stairs(seen) == [(10, 10), (20, 10), (40, 10), (80, 10)]
        seen, _ = follow(auto(10), 40, falling(0.05, noise_scale=159.0), examples=8000)
        assert stairs(seen) == [(10, 13), (20, 14), (40, 13)]

    def test_noise_that_comes_after_the_base_does_not_raise_the_top(self, follow, stairs):
        def measure(decision, epoch):
            return {
                "train_loss": 0.95**epoch,
                "noise_scale": 15.0 if decision.batch_size == 10 else 500.0,
            }

        assert stairs(follow(auto(10), 40, measure, examples=8000)[0])[-1] == (40, 13)

    def test_a_step_goes_on_while_growing_is_not_free_and_updates_are_left(self, follow, stairs):
        def measure(decision, epoch):
            noise = 500.0 if decision.batch_size == 10 else 15.0
            return {"train_loss": min(1.0, 0.95 ** (epoch - 5)), "noise_scale": noise}

        seen, decisions = follow(auto(10), 40, measure, examples=8000)
        assert stairs(seen) == [(10, 5), (20, 18), (40, 16), (80, 1)]
        assert decisions[17].reason == "0.5 x noise scale 15 is below 40: growing is not free yet"
        assert reasons(decisions)[1] == (
            "0.5 x noise scale 15 is below 40, but no time or updates are left"
        )

    def test_one_stray_reading_does_not_decide(self, follow, stairs):
        def measure(decision, epoch):
            return {"train_loss": 0.95**epoch, "noise_scale": 1e6 if epoch == 9 else 15.0}

        seen, _ = follow(auto(10), 40, measure, examples=8000)
        assert stairs(seen) == [(10, 13), (20, 14), (40, 13)]

    def test_a_loss_that_has_settled_ends_a_step_after_half_its_time(self, follow, stairs):
        seen, decisions = follow(auto(10), 40, constant(noise_scale=500.0), examples=8000)
        assert stairs(seen) == [(10, 5), (20, 6), (40, 8), (80, 21)]
        assert reasons(decisions)[0] == "the loss has settled at 10"

    def test_the_top_is_kept_until_the_budget_is_spent(self, follow):
        _, decisions = follow(auto(10), 40, constant(noise_scale=500.0), examples=8000)
        assert decisions[-1].reason == "annealing at 80 until the budget is spent"
        assert not any(decision.ends_cycle for decision in decisions)

    def test_penn_treebank_takes_fewer_updates_than_cbs_10(self):
        """39 epochs of 929,589 tokens in segments of 35: CBS-10 takes 49,468."""
        spent, seen = 0, []
        while len(seen) < 39:
            outlook = Outlook(39, len(seen), lambda b: math.ceil((929_589 // b - 1) / 35), 9999)
            found = auto(10).next(seen, outlook) if seen else auto(10).first(outlook)
            updates = outlook.updates_of(found.batch_size)
            loss = 5.7 * 0.98 ** len(seen)
            seen.append(Seen(found.batch_size, len(seen), 1, updates, 0, len(seen), loss, 500.0))
            spent += updates
        assert spent == 48472  # 10 epochs at 10, 9 at 20, 10 at 40 and 10 at 80


class TestSeveralCycles:
    def test_a_cycle_ends_when_the_loss_has_settled_at_the_top(self, follow, stairs):
        seen, decisions = follow(auto(10), 120, constant(noise_scale=500.0), examples=8000)
        assert stairs(seen)[:5] == [(10, 8), (20, 9), (40, 11), (80, 4), (10, 12)]
        assert [decision.reason for decision in decisions if decision.ends_cycle] == [
            "the loss has settled at 80: back to 10"
        ]
        assert seen[-1].cycle == 1

    def test_a_loss_that_goes_on_falling_ends_it_later_but_not_never(self, follow, stairs):
        seen, decisions = follow(auto(10), 120, falling(0.01), examples=8000)
        assert stairs(seen)[:5] == [(10, 15), (20, 15), (40, 15), (80, 23), (10, 13)]
        assert reasons(decisions)[3] == (
            "the loss still falls at 80, but the cycle is overdue: back to 10"
        )

    def test_rows_grow_longer_with_the_cycle(self, follow):
        _, decisions = follow(auto(10, cycle=200), 200, falling(0.01), examples=8000)
        assert [decision.epochs for decision in decisions[:3]] == [1, 6, 6]


class TestBase:
    @pytest.mark.parametrize(
        ("noise", "base", "reason"),
        [
            (0.1, 10, "1 of 14 epochs at 10 are over"),
            (639.0, 10, "1 of 10 epochs at 10 are over"),
            (640.0, 20, "noise scale 640 is far above 10: the base becomes 20"),
            (1e9, 40, "noise scale 1e+09 is far above 10: the base becomes 40"),
        ],
    )
    def test_the_first_epoch_may_move_the_base_by_a_factor_of_4(self, follow, noise, base, reason):
        _, decisions = follow(auto(10), 40, constant(noise_scale=noise), examples=8000)
        assert (decisions[1].batch_size, decisions[1].reason) == (base, reason)

    def test_a_base_that_went_up_takes_the_top_along(self, follow):
        seen, _ = follow(auto(10), 40, falling(0.05, noise_scale=700.0), examples=8000)
        assert [row.batch_size for row in seen][-1] == 160

    @pytest.mark.parametrize(("largest", "base"), [(81, 20), (80, 10)])
    def test_a_move_that_leaves_fewer_than_four_sizes_is_not_made(self, follow, largest, base):
        measured = constant(noise_scale=1e9)
        _, decisions = follow(auto(10, largest=largest), 40, measured, examples=8000)
        assert decisions[1].batch_size == base


class TestOverfitting:
    def worse(self, since):
        """Validation gets worse from an epoch on, while the training loss goes on falling."""

        def measure(decision, epoch):
            return {
                "train_loss": 0.95**epoch,
                "noise_scale": 500.0,
                "validation": 100.0 + abs(epoch - since),
            }

        return measure

    def test_five_rows_after_the_best_that_get_worse_lead_to_64_times_the_base(
        self, follow, stairs
    ):
        seen, decisions = follow(auto(10), 40, self.worse(since=3), examples=8000)
        assert stairs(seen) == [(10, 9), (640, 31)]
        assert reasons(decisions) == ["validation got worse while the loss fell: annealing"]

    def test_a_growth_does_not_start_the_count_again(self, follow, stairs):
        seen, _ = follow(auto(10), 40, self.worse(since=7), examples=8000)
        assert stairs(seen) == [(10, 10), (20, 3), (640, 27)]

    def test_the_cycle_before_is_not_counted(self, follow):
        def measure(decision, epoch):
            return {"train_loss": 0.99**epoch, "validation": 90.0 + max(0, epoch - 66)}

        seen, decisions = follow(auto(10), 120, measure, examples=8000)
        assert [row.cycle for row in seen].index(1) == 68
        assert decisions[72].batch_size == 10
        assert [row.batch_size for row in seen].index(640) == 74

    @pytest.mark.parametrize(
        ("figures", "fires"),
        [
            ([90.0, 94.0, 93.5, 96.0, 97.0, 98.0], True),  # 8 of 9
            ([90.0, 94.0, 93.0, 96.0, 97.0, 98.0], True),  # 8 of 10
            ([90.0, 94.0, 92.9, 96.0, 97.0, 98.0], False),  # 8 of 10.2
            ([90.0, 92.0, 94.0, 96.0, 98.0, 90.0, 92.0], False),  # as good as the best again
        ],
    )
    def test_a_few_ups_and_downs_do_not_matter(self, follow, stairs, figures, fires):
        def measure(decision, epoch):
            figure = figures[epoch] if epoch < len(figures) else 80.0
            return {"train_loss": 0.95**epoch, "validation": figure}

        first = stairs(follow(auto(10), 40, measure, examples=8000)[0])[0]
        assert first == ((10, 6) if fires else (10, 10))

    def test_a_training_loss_that_rises_too_is_no_overfitting(self, follow, stairs):
        def measure(decision, epoch):
            return {"train_loss": 1.05**epoch, "validation": 90.0 + epoch}

        assert stairs(follow(auto(10), 40, measure, examples=8000)[0])[:2] == [(10, 5), (20, 6)]

    def test_no_small_batches_come_after_it(self, follow):
        seen, decisions = follow(auto(10), 200, self.worse(since=3), examples=8000)
        assert {row.cycle for row in seen} == {0}
        assert decisions[-1].reason == "validation got worse before: no small batches any more"

    def test_validation_that_goes_up_and_down_changes_nothing(self, follow, stairs):
        def measure(decision, epoch):
            return {"train_loss": 0.95**epoch, "validation": 90.0 + epoch % 5}

        seen, _ = follow(auto(10), 40, measure, examples=8000)
        assert stairs(seen) == [(10, 10), (20, 10), (40, 10), (80, 10)]


@pytest.mark.parametrize(
    ("epochs", "sizes"),
    [(1, [10]), (2, [10, 20]), (3, [10, 20, 40]), (4, [10, 20, 40, 80])],
)
def test_a_budget_of_a_few_epochs_climbs_an_epoch_a_step(follow, epochs, sizes):
    seen, _ = follow(auto(10), epochs, falling(0.05), examples=8000)
    assert [row.batch_size for row in seen] == sizes


def test_a_largest_size_clips_the_cycle(follow, stairs):
    seen, _ = follow(auto(10, largest=30), 40, falling(0.05), examples=8000)
    assert stairs(seen) == [(10, 9), (20, 14), (30, 17)]


def test_the_gauges_are_what_it_went_by(follow):
    measured = falling(0.01, noise_scale=500.0, validation=90.0)
    _, decisions = follow(auto(10), 40, measured, examples=8000)
    assert decisions[4].gauges == pytest.approx(
        {
            "train_loss": 4.851495,
            "fall": 0.00995,
            "noise_scale": 500.0,
            "validation": 90.0,
        }
    )
