import pytest

from rebatch.policies import Outlook, absa


def eigenvalues(values):
    return lambda decision, epoch: {"train_loss": 1.0, "eigenvalue": values[epoch]}


def sizes(run):
    return [row.batch_size for row in run[0]]


def test_the_batch_doubles_when_the_eigenvalue_has_halved_since_it_last_did(follow):
    run = follow(absa(128), 7, eigenvalues([40, 30, 20, 12, 10, 9, 1]))
    assert sizes(run) == [128, 128, 128, 256, 256, 512, 512]
    assert run[1][3].reason == "top eigenvalue 20 is at most half of 40"
    assert run[1][3].gauges == {"eigenvalue": 20, "reference": 20}
    assert run[1][4].reason == "1 of 10 epochs at this size"


def test_the_batch_doubles_after_ten_epochs_at_a_size_without_a_halving(follow):
    run = follow(absa(128), 25, eigenvalues([5] * 25))
    assert sizes(run) == [128] * 10 + [256] * 10 + [512] * 5
    assert run[1][10].reason == "10 epochs at this size are over"


def test_without_an_eigenvalue_time_alone_counts(follow):
    run = follow(absa(128, duration=2), 5, eigenvalues([None] * 5))
    assert sizes(run) == [128, 128, 256, 256, 512]
    assert run[1][1].gauges == {}


def test_the_rate_grows_with_the_batch_as_far_as_that_grows(follow):
    run = follow(absa(128, duration=1, ratio=3), 5, eigenvalues([5] * 5))
    assert sizes(run) == [128, 256, 384, 384, 384]
    assert [decision.rate_factor for decision in run[1]] == [1, 2, 3, 3, 3]
    assert run[1][-1].reason == "the largest size stays"


def test_the_eigenvalue_is_wanted_until_the_largest_size_is_reached():
    outlook = Outlook(90, 9, lambda size: 50_000 // size, 50_000)
    rule = absa(128, ratio=4)
    assert [rule.wants_eigenvalue(size, outlook) for size in (128, 256, 512)] == [True, True, False]
    assert not rule.wants_eigenvalue(128, outlook._replace(done=90))
    assert absa(128, ratio=4, cyclical=True).wants_eigenvalue(512, outlook)
    assert not absa(128, largest=128, cyclical=True).wants_eigenvalue(128, outlook)


def test_a_largest_size_that_stays_says_so_and_has_nothing_to_go_by(follow):
    run = follow(absa(128, ratio=2), 4, eigenvalues([40, 20, None, None]))
    assert sizes(run) == [128, 128, 256, 256]
    assert run[1][3].reason == "the largest size stays"
    assert run[1][3].gauges == {}


def test_the_rate_may_stay_as_it_is(follow):
    run = follow(absa(128, duration=1, scale_rate=False), 3, eigenvalues([5] * 3))
    assert sizes(run) == [128, 256, 512]
    assert [decision.rate_factor for decision in run[1]] == [1, 1, 1]


@pytest.mark.parametrize("options", [{"largest": 300}, {"ratio": 128}])
def test_the_size_stops_at_the_largest_one(follow, options):
    run = follow(absa(128, duration=1, **options), 9, eigenvalues([5] * 9), examples=300)
    assert sizes(run) == [128, 256, 300, 300, 300, 300, 300, 300, 300]


def test_the_cycle_goes_back_to_the_base_after_a_step_at_the_largest_size(follow):
    run = follow(absa(128, ratio=4, duration=2, cyclical=True), 10, eigenvalues([5] * 10))
    assert sizes(run) == [128, 128, 256, 256, 512, 512, 128, 128, 256, 256]
    assert [row.cycle for row in run[0]] == [0] * 6 + [1] * 4
    assert (
        run[1][6].reason == "2 epochs at this size are over at the largest size: back to the base"
    )
    assert {decision.rate_factor for decision in run[1]} == {1.0}


def test_a_cycle_that_is_over_with_the_budget_is_complete(follow):
    rule, end = absa(128, ratio=2, duration=1, cyclical=True), Outlook(4, 4, len, 50_000)
    seen, _ = follow(rule, 4, eigenvalues([5] * 4))
    assert [row.batch_size for row in seen] == [128, 256, 128, 256]
    assert rule.completes(seen, end)
    assert not rule.completes(seen[:3], end)
    assert not absa(128, ratio=2, duration=1).completes(seen, end)


def test_the_cycle_compares_with_the_first_eigenvalue_of_its_own(follow):
    values = [40, 20, 10, 30, 20, 14, 14]
    run = follow(absa(128, ratio=2, cyclical=True), 7, eigenvalues(values))
    assert sizes(run) == [128, 128, 256, 128, 128, 128, 256]
