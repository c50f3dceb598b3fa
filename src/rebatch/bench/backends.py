"""Settings of torch that hold for the whole process, kept apart for loops that take turns."""

from typing import NamedTuple

import torch


class Backends(NamedTuple):
    """Whether fp32 work may round to TF32, and whether cuDNN tries its algorithms out."""

    matmul_tf32: bool
    cudnn_tf32: bool
    benchmark: bool

    @classmethod
    def now(cls) -> "Backends":
        """Return the settings as they are."""
        return cls(
            torch.backends.cuda.matmul.allow_tf32,
            torch.backends.cudnn.allow_tf32,
            torch.backends.cudnn.benchmark,
        )

    def set(self) -> None:
        """Put them in force."""
        torch.backends.cuda.matmul.allow_tf32 = self.matmul_tf32
        torch.backends.cudnn.allow_tf32 = self.cudnn_tf32
        torch.backends.cudnn.benchmark = self.benchmark


PYTORCH = Backends(matmul_tf32=False, cudnn_tf32=True, benchmark=False)
"""What torch starts with."""
