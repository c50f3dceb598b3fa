import torch

from rebatch.kernels import can_fuse


def test_a_processor_has_no_use_for_kernels():
    assert not can_fuse(torch.device("cpu"))
