import numpy as np
import pytest
import torch

from rebatch.data._order import epoch_generator, epoch_order


def fisher_yates(count, seed):
    """The shuffle by its definition, from the numbers that numpy promises never to change."""
    source = np.random.MT19937()
    source._legacy_seeding(seed)
    order = list(range(count))
    for place, number in enumerate(source.random_raw(count - 1).tolist()):
        other = place + number % (count - place)
        order[place], order[other] = order[other], order[place]
    return order


@pytest.mark.parametrize("count", [2, 10, 1000])
def test_the_order_is_the_shuffle_it_is_defined_as(count):
    seed = epoch_generator(7, 3, "order").initial_seed()
    assert epoch_order(count, 7, 3).tolist() == fisher_yates(count, seed)


def test_the_order_of_a_seed_and_epoch_never_changes():
    assert epoch_order(10, 0, 0).tolist() == [5, 2, 6, 4, 9, 8, 3, 1, 0, 7]
    assert epoch_order(10, 7, 3).tolist() == [2, 6, 7, 3, 8, 5, 4, 1, 0, 9]


def test_seeds_epochs_and_purposes_do_not_run_into_each_other():
    seeds = {
        epoch_generator(seed, epoch, purpose).initial_seed()
        for seed in range(20)
        for epoch in range(20)
        for purpose in ("order", "augment")
    }
    assert len(seeds) == 800


def test_the_users_own_randomness_is_left_alone():
    torch.manual_seed(0)
    expected = torch.rand(1)
    torch.manual_seed(0)
    epoch_order(10, 0, 0)
    assert torch.equal(torch.rand(1), expected)
