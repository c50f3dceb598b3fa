"""Kernels of our own, in Triton, for what PyTorch's leave slow; nothing needs them to be there.

The files that define kernels import Triton, so they are imported where they are used.
"""

from rebatch.kernels.linear import aligned_linear
from rebatch.kernels.lstm import MOST_COLUMNS, fused_lstm
from rebatch.kernels.support import can_fuse

__all__ = ["MOST_COLUMNS", "aligned_linear", "can_fuse", "fused_lstm"]
