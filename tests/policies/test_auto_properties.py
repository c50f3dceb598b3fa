"""What holds for every run of AUTO, whatever is measured."""

from fractions import Fraction

from hypothesis import example, given, settings
from hypothesis import strategies as st

from rebatch.policies import Outlook, auto

SCALES = st.none() | st.sampled_from([0.0, 1e-300, 1e300]) | st.floats(0, 1e6)
LOSSES = st.sampled_from([0.0, 1e-9, 1e9]) | st.floats(0, 10)
FIGURES = st.none() | st.floats(0, 1e3)
READINGS = st.lists(st.tuples(SCALES, LOSSES, FIGURES), min_size=1, max_size=30)
MUCH_NOISE = st.lists(
    st.tuples(st.none() | st.floats(1e6, 1e300), LOSSES, FIGURES), min_size=1, max_size=30
)
EPOCHS = st.integers(1, 260)
BASES = st.integers(1, 300)
WORSE = [(5000.0, 1 / (1 + epoch), 90.0 + epoch) for epoch in range(30)]
CHANGING = [(0.0 if epoch % 60 < 12 else 5000.0, 0.95**epoch, None) for epoch in range(90)]


def measured(readings):
    """Give the readings in turn, over and over."""

    def measure(decision, epoch):
        scale, loss, figure = readings[epoch % len(readings)]
        return {"train_loss": loss, "noise_scale": scale, "validation": figure}

    return measure


def even_climb(base, epochs, examples, factors):
    """The updates of some multiples of the base in even shares; of fewer in fewer epochs."""
    sizes = [min(base * factor, examples) for factor in factors[:epochs]]
    return Fraction(epochs * sum(-(-examples // size) for size in sizes), len(sizes))


@settings(deadline=None, max_examples=50)
@given(base=BASES, epochs=EPOCHS, examples=st.integers(300, 60_000), readings=READINGS)
@example(base=10, epochs=40, examples=9000, readings=WORSE)
@example(base=10, epochs=40, examples=9000, readings=[(0.0, 1.0, None)])
@example(base=10, epochs=40, examples=9000, readings=[(1e300, 1.0, None)])
@example(base=10, epochs=90, examples=9000, readings=CHANGING)
def test_a_run_spends_its_epochs_and_never_more_updates_than_an_even_climb_to_4_times_the_base(
    follow, base, epochs, examples, readings
):
    seen, decisions = follow(auto(base), epochs, measured(readings), examples=examples)
    assert sum(row.epochs for row in seen) == epochs
    assert sum(row.updates for row in seen) <= even_climb(base, epochs, examples, (1, 2, 4))
    assert all(row.epochs == decision.epochs for row, decision in zip(seen, decisions, strict=True))


@settings(deadline=None, max_examples=50)
@given(base=BASES, epochs=EPOCHS, examples=st.integers(300, 60_000), readings=MUCH_NOISE)
def test_where_the_noise_allows_8_times_the_base_it_takes_no_more_than_the_papers_cycle(
    follow, base, epochs, examples, readings
):
    seen, _ = follow(auto(base), epochs, measured(readings), examples=examples)
    assert sum(row.updates for row in seen) <= even_climb(base, epochs, examples, (1, 2, 4, 8))


@settings(deadline=None, max_examples=50)
@given(base=BASES, epochs=EPOCHS, readings=READINGS, largest=st.none() | st.integers(300, 5000))
def test_sizes_stay_between_a_quarter_of_the_base_and_the_largest(
    follow, base, epochs, readings, largest
):
    seen, _ = follow(auto(base, largest=largest), epochs, measured(readings), examples=4000)
    highest = min(largest or 4000, 4000, 64 * base)
    assert all(base <= row.batch_size <= highest for row in seen)


@settings(deadline=None, max_examples=50)
@given(base=BASES, epochs=st.integers(4, 260), readings=READINGS)
def test_a_run_ends_annealed_at_4_times_the_base_or_more(follow, base, epochs, readings):
    seen, _ = follow(auto(base), epochs, measured(readings), examples=60_000)
    last = [row.batch_size for row in seen if row.cycle == seen[-1].cycle]
    assert seen[-1].batch_size >= 4 * base
    assert last == sorted(last)
    assert auto(base).completes(seen, Outlook(epochs, epochs, len, 60_000))


@settings(deadline=None, max_examples=50)
@given(base=BASES, epochs=EPOCHS, readings=READINGS)
def test_every_decision_has_a_reason_and_finite_gauges(follow, base, epochs, readings):
    _, decisions = follow(auto(base), epochs, measured(readings), examples=10_000)
    assert all(decision.reason and "\n" not in decision.reason for decision in decisions)
    assert all(abs(value) < float("inf") for d in decisions for value in d.gauges.values())
