import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from rebatch.engine.ranks import ALONE, Ranks
from rebatch.engine.statistics import RunningStatistics
from rebatch.engine.task import Batch, own_columns, own_part, samples, whole
from rebatch.errors import InputError


@given(st.integers(0, 500), st.integers(1, 40), st.integers(1, 9))
def test_ranks_share_every_sample_in_order_and_split_no_group(total, group, size):
    spans = [Ranks(rank, size).span(total, group) for rank in range(size)]
    edges = [0, *(stop for _, stop in spans)]
    assert [start for start, _ in spans] == edges[:-1]
    assert edges[-1] == total
    assert all(edge % group == 0 or edge == total for edge in edges)


@given(st.integers(1, 500), st.integers(1, 40), st.integers(1, 9))
def test_the_first_rank_has_most_and_no_two_differ_by_more_than_a_group(total, group, size):
    spans = [Ranks(rank, size).span(total, group) for rank in range(size)]
    sizes = [stop - start for start, stop in spans]
    assert sizes[0] == max(sizes) > 0
    full = [-(-size // group) for size in sizes]
    assert max(full) - min(full) <= 1


def test_a_rank_without_a_part_of_what_is_judged_takes_one_that_is_dropped():
    assert [Ranks(rank, 3).own(2) for rank in range(3)] == [slice(0, 1), slice(1, 2), slice(0, 1)]
    assert Ranks().own(5) == slice(0, 5)


def test_a_process_alone_does_without_anybody():
    values = torch.ones(3)
    ALONE.add([values])
    assert values.tolist() == [1, 1, 1]
    assert ALONE.joined(values, 0, 3) is values
    assert ALONE.highest(15, 0) == (15, 0)
    assert ALONE.first_does(lambda: 5) == ALONE.all_do(lambda: 5) == 5
    ALONE.demand_same({"seed": 1})
    with pytest.raises(InputError, match="no"):
        ALONE.first_does(refuse)
    state = torch.get_rng_state()
    ALONE.seed_update(3)
    assert torch.equal(torch.get_rng_state(), state)
    assert not torch.distributed.is_initialized()


def refuse() -> None:
    raise InputError("no")


def test_ranks_draw_numbers_of_their_own_that_only_the_update_decides():
    def draw(rank: int, update: int, seed: int = 0) -> float:
        Ranks(rank, 4, seed).seed_update(update)
        return torch.rand(1).item()

    drawn = {draw(rank, update) for rank in (1, 2, 3) for update in (0, 1)}
    assert len(drawn) == 6
    assert draw(1, 0) in drawn
    assert draw(1, 0, seed=1) not in drawn


def test_a_part_knows_its_place_and_the_size_of_its_update():
    batch = Batch((torch.arange(20).view(10, 2),), torch.arange(10))
    part = own_part(batch, 0, Ranks(1, 3), group=4)
    assert part.targets.tolist() == [4, 5, 6, 7]
    assert (part.first, whole(part, 0), samples(part, 0)) == (4, 10, 10)
    assert own_part(part, 0, Ranks(1, 3), group=4) is part
    empty = own_part(batch, 0, Ranks(2, 3), group=5)
    assert (len(empty.targets), samples(empty, 0)) == (0, 10)


def test_columns_of_text_are_cut_along_their_dimension_with_their_memory():
    batch = Batch((torch.zeros(7, 5),), torch.zeros(7, 5))
    part = own_part(batch, 1, Ranks(1, 2), group=1)
    assert part.targets.shape == (7, 2)
    assert (whole(part, 1), samples(part, 1)) == (5, 35)
    memory = (torch.arange(5.0).view(1, 5, 1),)
    assert own_columns(memory, Ranks(1, 2))[0].flatten().tolist() == [3, 4]
    assert own_columns(memory, ALONE) is memory
    assert own_columns(None, Ranks(1, 2)) is None


def test_statistics_of_groups_on_three_ranks_are_those_of_all_groups_in_turn():
    torch.manual_seed(0)
    groups = [torch.randn(4, 2) for _ in range(5)]
    alone, *ranks = (nn.BatchNorm1d(2, momentum=0.3).double() for _ in range(4))
    for layer in (alone, *ranks):
        layer(torch.ones(3, 2, dtype=torch.float64) * torch.tensor([[1.0], [2.0], [4.0]]))
    statistics = [RunningStatistics(layer) for layer in ranks]
    for group in groups:
        alone(group.double())
    shares, added = ([0, 1], [2, 3, 4], []), []
    for layer, kept, own in zip(ranks, statistics, shares, strict=True):
        kept.keep()
        for number in own:
            layer(groups[number].double())
        behind = 5 - max(own, default=4) - 1
        added.append(kept.added(len(own), behind))
    sums = [sum(each) for each in zip(*added, strict=True)]
    for layer, kept, own in zip(ranks, statistics, shares, strict=True):
        kept.settle(sums, 5, len(own))
        assert layer.num_batches_tracked == alone.num_batches_tracked == 6
        torch.testing.assert_close(layer.running_mean, alone.running_mean, rtol=1e-12, atol=0)
        torch.testing.assert_close(layer.running_var, alone.running_var, rtol=1e-12, atol=0)
