"""Kernels of our own, in Triton, for what PyTorch's leave slow; nothing needs them to be there."""

from rebatch.kernels.lstm import MOST_COLUMNS, can_fuse, fused_lstm

__all__ = ["MOST_COLUMNS", "can_fuse", "fused_lstm"]
