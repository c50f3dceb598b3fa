import pytest
import torch

from rebatch.engine.shortage import is_shortage


@pytest.mark.parametrize(
    ("error", "found"),
    [
        (torch.cuda.OutOfMemoryError("CUDA out of memory"), True),
        (MemoryError(), True),
        (RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory"), True),
        (RuntimeError("mat1 and mat2 shapes cannot be multiplied"), False),
    ],
)
def test_memory_that_runs_out_is_told_from_other_errors_on_every_pytorch(error, found, monkeypatch):
    monkeypatch.delattr(torch, "OutOfMemoryError", raising=False)  # which PyTorch 2.4 does not have
    assert is_shortage(error) == found
