from rebatch.bench.speed import Speed


def speed(**changes):
    values = {
        "model": "L1",
        "batch_size": 10,
        "asked": 3.0,
        "against": "plain",
        "engine": "graphs",
        "precision": "bf16",
        "updates_in_epoch": 2656,
        "rounds": {"ours": [480.0, 500.0, 490.0], "plain": [160.0, 150.0, 155.0]},
        "limit": 5000.0,
    }
    return Speed(**{**values, **changes})


def test_the_best_round_of_either_side_counts():
    assert speed().best("ours") == 500.0
    assert speed().ratio("plain") == 3.125
    assert speed().epoch_seconds("plain") == 16.6


def test_a_target_is_met_or_missed_or_not_there():
    assert speed().is_met is True
    assert speed(asked=3.2).is_met is False
    assert speed(asked=None).is_met is None


def test_the_target_of_one_loop_is_not_looked_up_in_another():
    rounds = {"ours": [10.0], "plain": [4.0], "plain_bf16": [12.5]}
    found = speed(asked=1.0, against="plain_bf16", rounds=rounds)
    assert found.is_met is False
    assert found.to_dict()["ratio"] == 0.8


def test_resident_data_is_compared_with_resident_data():
    rounds = {"ours": [10.0], "plain": [2.0], "plain_resident": [5.0]}
    assert speed(rounds=rounds).resident_ratio == 2.0
    assert speed(rounds={**rounds, "ours_resident": [15.0]}).resident_ratio == 3.0


def test_a_stream_that_is_on_the_device_anyway_has_one_ratio():
    assert speed().resident_ratio == 3.125


def test_the_record_of_a_cell_has_what_follows_from_its_rounds():
    record = speed().to_dict()
    assert record["updates_per_second"] == {"ours": 500.0, "plain": 160.0}
    assert record["epoch_seconds"]["ours"] == 5.312
    assert (record["ratio"], record["resident_ratio"], record["met"]) == (3.125, 3.125, True)
