"""Simulations, against figures worked out by hand."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rebatch
from rebatch.data._cut import Share, count_pieces
from rebatch.engine.ranks import Ranks
from rebatch.errors import InputError
from rebatch.scaling import Cluster, Network, UpdateTimes, compared, fit, simulate

SLOW = UpdateTimes(0.010, 0.001, 1, 64, 0.0, "by hand")
"""10 ms, and 1 ms for each sample."""


def cbs(examples=1024, epochs=6, **options):
    """Batch sizes 64, 128 and 256, two epochs each (or as said)."""
    schedule = rebatch.cyclical(64, width=2, steps=3)
    return rebatch.plan(schedule, epochs=epochs, examples=examples, **options)


@pytest.mark.parametrize(
    ("ranks", "micro", "batch_size", "share", "pieces", "idle"),
    [
        (1, None, 100, 100, 1, 0.0),
        (1, 32, 100, 100, 4, 0.0),
        (8, 32, 256, 32, 1, 0.0),
        (8, 32, 257, 33, 2, 7 / 264),
        (8, 32, 1024, 128, 4, 0.0),
        (64, 32, 256, 4, 1, 0.0),
        (64, 32, 100, 2, 1, 28 / 128),
        (512, 32, 256, 1, 1, 0.5),
        (512, None, 1, 1, 1, 511 / 512),
    ],
)
def test_shares_micro_batches_and_idle_ranks(ranks, micro, batch_size, share, pieces, idle):
    cluster = Cluster(ranks=ranks, micro_batch_size=micro)
    assert (cluster.share(batch_size), cluster.pieces(batch_size)) == (share, pieces)
    assert cluster.idle(batch_size) == pytest.approx(idle)


@given(st.integers(1, 300), st.integers(1, 40), st.integers(1, 50))
def test_the_cut_is_that_of_the_sampler(batch_size, ranks, micro):
    cluster = Cluster(ranks=ranks, micro_batch_size=micro)
    first = Share(0, ranks, micro)
    start, stop = first.of(batch_size)
    assert cluster.share(batch_size) == stop - start
    assert cluster.pieces(batch_size) == first.count(batch_size)


@given(st.integers(1, 300), st.integers(1, 40), st.integers(1, 50))
def test_groups_of_batch_norm_are_cut_as_in_training(batch_size, ranks, group):
    start, stop = Ranks(0, ranks).span(batch_size, group)
    assert Cluster(ranks=ranks, norm_batch_size=group).share(batch_size) == stop - start


@pytest.mark.parametrize(
    ("group", "share", "pieces", "idle"),
    # 256 samples on 64 ranks: eight groups of 32, three of 96 (the last of 64), one of 256.
    [(1, 4, 1, 0.0), (32, 32, 1, 0.875), (96, 96, 1, 1 - 256 / 6144), (256, 256, 1, 63 / 64)],
)
def test_a_group_of_batch_norm_stays_on_one_rank(group, share, pieces, idle):
    cluster = Cluster(ranks=64, norm_batch_size=group)
    assert (cluster.share(256), cluster.pieces(256)) == (share, pieces)
    assert cluster.idle(256) == pytest.approx(idle)


def test_the_slowest_rank_pays_for_each_micro_batch():
    # 257 over 8 ranks: 33 samples in 2 micro-batches.
    cluster = Cluster(ranks=8, micro_batch_size=32, times=SLOW)
    assert cluster.compute(257) == pytest.approx(0.053)


@pytest.mark.parametrize(
    ("ranks", "seconds"),
    # 100 MB at 10 GB/s take 10 ms: 2 (R - 1) / R of it and 2 (R - 1) messages of 10 us.
    [(1, 0.0), (2, 0.01002), (8, 0.0175 + 0.00014), (512, 0.0199609375 + 0.01022)],
)
def test_the_ring_sends_the_gradient_nearly_twice(ranks, seconds):
    network = Network(parameters=25_000_000, gigabytes=10, microseconds=10)
    assert network.seconds(ranks) == pytest.approx(seconds)


def test_each_step_of_the_cycle_has_its_time_and_efficiency():
    # On 8 ranks an update of 64, 128 and 256 takes 18, 26 and 42 ms, alone 74, 138 and 266 ms.
    steps = simulate(cbs(), Cluster(ranks=8, times=SLOW)).steps
    assert [(step.step, step.batch_size) for step in steps] == [(0, 64), (1, 128), (2, 256)]
    assert [(step.epochs, step.updates) for step in steps] == [(2, 32), (2, 16), (2, 8)]
    assert [step.cost.seconds for step in steps] == pytest.approx([0.576, 0.416, 0.336])
    assert [step.cost.alone for step in steps] == pytest.approx([2.368, 2.208, 2.128])
    efficiency = [74 / 144, 138 / 208, 266 / 336]
    assert [step.cost.efficiency for step in steps] == pytest.approx(efficiency)


def test_the_whole_plan_is_the_sum_of_its_steps():
    cost = simulate(cbs(), Cluster(ranks=8, times=SLOW)).cost
    assert cost.seconds == pytest.approx(1.328)
    assert cost.alone == pytest.approx(6.704)
    assert cost.efficiency == pytest.approx(6.704 / 10.624)


def test_the_network_is_paid_once_an_update_whatever_the_micro_batches():
    # 2 ranks exchange 1,000,000 gradients at 1 GB/s in 4 ms; 32 samples in 4 pieces take 72 ms.
    network = Network(parameters=1_000_000, gigabytes=1)
    cluster = Cluster(ranks=2, micro_batch_size=8, times=SLOW, network=network)
    first = simulate(cbs(), cluster).steps[0]
    assert first.cost.seconds == pytest.approx(32 * 0.076)
    assert first.cost.alone == pytest.approx(32 * 0.144)


def test_one_rank_is_perfectly_efficient():
    network = Network(parameters=1_000_000, gigabytes=1, microseconds=100)
    cluster = Cluster(ranks=1, micro_batch_size=16, times=SLOW, network=network)
    assert simulate(cbs(), cluster).cost.efficiency == 1.0


def test_below_one_sample_a_rank_nothing_more_is_gained():
    at = {ranks: simulate(cbs(), Cluster(ranks=ranks, times=SLOW)) for ranks in (64, 256, 1024)}
    assert [at[ranks].steps[0].cost.seconds for ranks in at] == pytest.approx([0.352] * 3)
    last = [at[ranks].steps[2].cost.seconds for ranks in at]
    assert last == pytest.approx([8 * 0.014, 8 * 0.011, 8 * 0.011])


def test_the_short_last_update_of_an_epoch_takes_less():
    # 100 examples: 64 and 36 in each of two epochs, at 74 and 46 ms; larger sizes: all 100 at once.
    steps = simulate(cbs(examples=100), Cluster(ranks=1, times=SLOW)).steps
    assert [step.cost.seconds for step in steps] == pytest.approx([0.24, 0.22, 0.22])


def test_a_dropped_last_batch_takes_nothing():
    plan = rebatch.plan(rebatch.constant(64), epochs=2, examples=100, drop_last=True)
    cost = simulate(plan, Cluster(ranks=1, times=SLOW)).cost
    assert cost.seconds == pytest.approx(0.148)


def test_the_same_step_of_all_cycles_is_one():
    steps = simulate(cbs(epochs=13), Cluster(ranks=8, times=SLOW)).steps
    assert [(step.batch_size, step.epochs, step.updates) for step in steps] == [
        (64, 5, 80),
        (128, 4, 32),
        (256, 4, 16),
    ]


def test_tokens_are_cut_by_columns():
    schedule = rebatch.cyclical(10, width=1, steps=2)
    plan = rebatch.plan(schedule, epochs=2, tokens=7110, bptt=35)
    steps = simulate(plan, Cluster(ranks=4, times=SLOW)).steps
    assert [step.updates for step in steps] == [21, 11]
    assert [step.cost.seconds for step in steps] == pytest.approx([21 * 0.013, 11 * 0.015])


@given(
    st.integers(1, 60),
    st.integers(1, 7),
    st.integers(1, 30),
    st.integers(1, 8),
    st.integers(1, 9),
    st.booleans(),
)
def test_the_pieces_counted_are_those_the_sampler_makes(
    examples, updates, base, ranks, micro, drop_last
):
    schedule = rebatch.parse("CBS-2-2", base, clock="updates")
    try:
        plan = rebatch.plan(schedule, updates=updates, examples=examples, drop_last=drop_last)
    except InputError:
        return
    one_a_piece = UpdateTimes(1.0, 0.0, 1, 1, 0.0, "counts pieces")
    cluster = Cluster(ranks=ranks, micro_batch_size=micro, times=one_a_piece)
    share = Share(0, ranks, micro)
    epochs = range(plan.epoch_at(plan.updates - 1)[0] + 1)
    made = sum(count_pieces(plan, share, epoch) for epoch in epochs)
    assert simulate(plan, cluster).cost.seconds == made


def test_a_very_long_plan_is_simulated_at_once():
    plan = rebatch.plan(rebatch.constant(64), epochs=10**9, examples=100)
    cost = simulate(plan, Cluster(ranks=1, times=SLOW)).cost
    assert cost.seconds == pytest.approx(0.12e9)


def test_without_update_times_there_is_no_cost():
    scaling = simulate(cbs(), Cluster(ranks=8))
    assert scaling.cost is None
    assert scaling.to_dict()["steps"][0] == {
        "step": 0,
        "batch_size": 64,
        "epochs": 2,
        "updates": 32,
        "samples_a_rank": 8,
        "micro_batches": 1,
        "idle": 0.0,
        "compute_seconds": None,
        "exchange_seconds": None,
        "seconds": None,
        "efficiency": None,
    }


def test_all_of_it_is_json_beside_the_baseline():
    network = Network(parameters=1_000_000, gigabytes=1)
    cluster = Cluster(ranks=2, micro_batch_size=64, times=fit({1: 11, 2: 12}), network=network)
    found = json.loads(json.dumps(compared(cbs(), cluster, 128)))
    assert found["simulation"] is True
    assert (found["ranks"], found["micro_batch_size"]) == (2, 64)
    assert found["network"] == {"parameters": 1_000_000, "gigabytes": 1, "microseconds": 0.0}
    assert found["update_times"]["source"] == "as given"
    assert found["steps"][1]["compute_seconds"] == pytest.approx(0.074)
    assert found["steps"][1]["exchange_seconds"] == pytest.approx(0.004)
    assert found["baseline"]["batch_size"] == 128
    assert found["baseline"]["seconds"] == pytest.approx(48 * 0.078)
    assert found["seconds"] == pytest.approx(32 * 0.046 + 16 * 0.078 + 8 * 0.152)


def test_a_base_that_no_epoch_has_an_update_of_is_no_baseline():
    schedule = rebatch.steps(7, every=1, factor=0.5)
    made = rebatch.plan(schedule, epochs=3, examples=6, drop_last=True)
    assert compared(made, Cluster(ranks=2))["baseline"] is None
    with pytest.raises(InputError, match="batch size must leave at least one update"):
        compared(made, Cluster(ranks=2), 7)


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (lambda: Cluster(ranks=0), "ranks must be a whole number of at least 1, got 0"),
        (
            lambda: Cluster(ranks=1, micro_batch_size=0),
            "micro_batch_size must be a whole number of at least 1, got 0",
        ),
        (
            lambda: Cluster(ranks=1, micro_batch_size=6, norm_batch_size=4),
            "micro_batch_size must be a multiple of 4, the group of batch norm, got 6",
        ),
        (
            lambda: Cluster(ranks=2, network=Network(parameters=1, gigabytes=1)),
            "update_times must be given with network, got none",
        ),
        (
            lambda: Network(parameters=0, gigabytes=1),
            "parameters must be a whole number of at least 1, got 0",
        ),
        (
            lambda: Network(parameters=1, gigabytes=0),
            "network must be a finite number above 0, got 0",
        ),
        (
            lambda: Network(parameters=1, gigabytes=1, microseconds=-1),
            "latency must be a finite number of at least 0, got -1",
        ),
    ],
)
def test_wrong_input_is_refused(made, message):
    with pytest.raises(InputError) as caught:
        made()
    assert str(caught.value) == message
