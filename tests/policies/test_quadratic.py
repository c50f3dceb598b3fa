"""A problem with a known answer: SGD on a quadratic with gradient noise, in expectation.

The loss is the sum of h·w²/2 over the directions, and the gradient of one sample is h·w plus noise
of variance s.  With rate r, an update at batch size B takes the mean square m of w to
(1 - r·h)²·m + r²·s/B: no random number is needed.
"""

import math
from itertools import product

import pytest

from rebatch.policies import auto, gns

EXAMPLES, BASE = 800, 8


def updates_of(size):
    return math.ceil(EXAMPLES / size)


class Quadratic:
    def __init__(self, curvatures, *, variance=100.0, rate=0.1, start=100.0):
        self.curvatures, self.variance, self.rate = curvatures, variance, rate
        self.squares = [start] * len(curvatures)

    @property
    def loss(self):
        return sum(h * m for h, m in zip(self.curvatures, self.squares, strict=True)) / 2

    @property
    def noise_scale(self):
        signal = sum(h * h * m for h, m in zip(self.curvatures, self.squares, strict=True))
        return len(self.curvatures) * self.variance / signal

    def train(self, size, epochs):
        """Make the updates of some epochs at once: the square goes to its floor geometrically."""
        for index, h in enumerate(self.curvatures):
            shrink = (1 - self.rate * h) ** 2
            floor = self.rate**2 * self.variance / size / (1 - shrink)
            left = shrink ** (epochs * updates_of(size))
            self.squares[index] = floor + left * (self.squares[index] - floor)

    def followed_by(self, follow, policy, epochs):
        """Train under a policy; return its rows and the noise scale at the end of each."""
        scales = []

        def measure(decision, epoch):
            self.train(decision.batch_size, decision.epochs)
            scales.append(self.noise_scale)
            return {"train_loss": self.loss, "noise_scale": self.noise_scale}

        return follow(policy, epochs, measure, examples=EXAMPLES)[0], scales


def test_the_noise_scale_of_the_first_weights_is_computed_by_hand():
    assert Quadratic([1.0], variance=100.0, start=4.0).noise_scale == 25.0


def test_the_best_batch_is_a_share_of_the_noise_scale():
    """A sample is best used where (m - m') / B is largest: at 2·r·h / (2 - r·h) noise scales."""

    def gain_of_a_sample(size):
        problem = Quadratic([1.0], rate=0.1, start=0.5)
        after = 0.9**2 * 0.5 + 0.1**2 * problem.variance / size
        return (0.5 - after) / size

    best = max(range(1, 200), key=gain_of_a_sample)
    assert best == 21
    assert Quadratic([1.0], start=0.5).noise_scale * 2 * 0.1 / 1.9 == pytest.approx(21.05, abs=0.01)


SHARE = 3 * 0.002 / (2 - 0.002)
"""Half as much again as is best for r·h = 0.002.  At its floor the square is r·s / (B·h·(2 - r·h)),
where the best batch is 2·B exactly: a rule that waits for a factor of 2 would never move."""


def slow():
    return Quadratic([0.02], rate=0.1, variance=1.0, start=100.0)


def test_gns_follows_the_best_batch_within_a_factor_of_4(follow):
    seen, scales = slow().followed_by(follow, gns(BASE, share=SHARE), 60)
    ratios = [
        max(BASE, SHARE * scale) / row.batch_size for scale, row in zip(scales, seen, strict=True)
    ]
    assert seen[-1].batch_size >= 8 * BASE
    assert all(1 / 4 < ratio < 4 for ratio in ratios)


def test_gns_ends_below_every_constant_size(follow):
    adapted = slow()
    adapted.followed_by(follow, gns(BASE, share=SHARE), 60)
    for factor in (1, 2, 4, 8, 16, 32):
        constant = slow()
        constant.train(BASE * factor, 60)
        assert adapted.loss < constant.loss


def staircases(epochs, every):
    """All ways up 1, 2, 4 and 8 times the base within the updates of the paper's cycle."""
    limit = epochs * sum(updates_of(BASE * factor) for factor in (1, 2, 4, 8)) / 4
    for lengths in product(range(0, epochs + 1, every), repeat=3):
        rest = epochs - sum(lengths)
        steps = list(zip((8, 16, 32, 64), (*lengths, rest), strict=True))
        if rest >= 0 and sum(updates_of(size) * length for size, length in steps) <= limit:
            yield steps


def cycles(epochs):
    """The paper's cycles of four steps, which take as many updates."""
    for width in (1, 2, 5, 10):
        yield [(BASE << (epoch // width) % 4, 1) for epoch in range(epochs)]


PROBLEMS = {
    "one direction": {"curvatures": [1.0]},
    "two directions": {"curvatures": [1.0, 0.02]},
    "a slow direction": {"curvatures": [1.0, 0.005], "variance": 10.0},
    "little noise": {"curvatures": [1.0, 0.02], "variance": 0.1},
}
MUCH_NOISE = {"curvatures": [1.0, 0.02], "variance": 10_000.0}


def loss_of(schedule, options):
    problem = Quadratic(**options)
    for size, length in schedule:
        problem.train(size, length)
    return problem.loss


def excess_of_auto(follow, options, epochs):
    """The last loss of AUTO over that of the best fixed schedule with the same limit of updates."""
    problem = Quadratic(**options)
    problem.followed_by(follow, auto(BASE), epochs)
    fixed = [*staircases(epochs, every=5), *cycles(epochs)]
    return problem.loss / min(loss_of(schedule, options) for schedule in fixed)


@pytest.mark.parametrize("options", PROBLEMS.values(), ids=PROBLEMS)
def test_auto_ends_within_a_tenth_of_the_best_fixed_schedule(follow, options):
    assert excess_of_auto(follow, options, epochs=40) <= 1.1


@pytest.mark.parametrize("options", PROBLEMS.values(), ids=PROBLEMS)
def test_two_cycles_of_auto_cost_up_to_half_where_there_is_only_one_valley(follow, options):
    assert excess_of_auto(follow, options, epochs=90) <= 1.5


@pytest.mark.parametrize("epochs", [40, 90])
def test_auto_is_worst_where_the_base_is_too_small_to_make_any_progress(follow, epochs):
    """The slow direction only gets worse below 64: every epoch that climbs there is lost."""
    assert excess_of_auto(follow, MUCH_NOISE, epochs) <= 1.6
