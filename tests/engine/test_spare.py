import torch
from torch import nn

from rebatch.engine.spare import Spare


def test_buffers_and_random_numbers_go_back_to_where_they_were():
    model = nn.Sequential(nn.BatchNorm1d(3), nn.BatchNorm1d(3))
    spare = Spare(model, torch.device("cpu"))
    for _ in range(2):  # the second time the copies are used again
        spare.keep()
        before = {name: value.clone() for name, value in model.named_buffers()}
        expected = torch.rand(2)
        model(torch.rand(5, 3))
        assert not torch.equal(model[1].running_mean, before["1.running_mean"])
        spare.restore()
        assert all(torch.equal(value, before[name]) for name, value in model.named_buffers())
        assert torch.equal(torch.rand(2), expected)
        model(torch.rand(5, 3))


def test_a_model_without_buffers_has_random_numbers_to_go_back_to():
    spare = Spare(nn.Linear(1, 1), torch.device("cpu"))
    spare.keep()
    first = torch.rand(1)
    spare.restore()
    assert torch.equal(torch.rand(1), first)
