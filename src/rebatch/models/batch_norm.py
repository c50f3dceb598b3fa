"""Batch norm whose statistics do not follow the batch size."""

from torch import Tensor, cat, nn, split
from torch.nn.functional import relu as rectified
from torch.nn.modules.batchnorm import _BatchNorm

from rebatch.errors import positive_int


class GroupedBatchNorm2d(nn.BatchNorm2d):
    """``nn.BatchNorm2d`` over consecutive groups of ``norm_batch_size`` samples.

    In training every group is normalised by its own statistics (the last one may be smaller) and
    updates the running statistics in its turn, as accumulation over micro-batches of that size
    would. ``None`` takes the whole batch as one group. The state dict is ``nn.BatchNorm2d``'s.

    >>> import torch
    >>> images = torch.tensor([1.0, 3.0, 10.0, 30.0]).reshape(4, 1, 1, 1)
    >>> GroupedBatchNorm2d(1, norm_batch_size=2)(images).flatten().sign().tolist()
    [-1.0, 1.0, -1.0, 1.0]
    """

    family = "norm"
    """Of the kernels, for `rebatch.models.fuse`."""
    fused = False
    """Whether training uses kernels of our own: two each way, however many groups there are."""

    def __init__(self, num_features: int, norm_batch_size: int | None = None) -> None:
        super().__init__(positive_int("num_features", num_features))
        self.norm_batch_size = _group(norm_batch_size)

    def forward(self, input: Tensor, add: Tensor | None = None, *, relu: bool = False) -> Tensor:
        """Normalise ``input`` (sample, channel, row, column), add to it, and rectify if asked."""
        if self._uses_kernels:
            return self._fused(input, None, add, relu)[0]
        found = self._in_groups(input)
        found = found if add is None else found + add
        return rectified(found) if relu else found

    def of_sum(
        self, input: Tensor, plus: Tensor | None = None, *, relu: bool = False
    ) -> tuple[Tensor, Tensor]:
        """Normalise ``input + plus``, rectify if asked to, and give that sum too."""
        if plus is not None and self._uses_kernels:
            found, whole = self._fused(input, plus, None, relu)
            assert whole is not None
            return found, whole
        whole = input if plus is None else input + plus
        return self(whole, relu=relu), whole

    @property
    def _uses_kernels(self) -> bool:
        # Without a momentum the statistics are plain averages, which the kernels do not take.
        return self.fused and self.training and self.momentum is not None

    def _in_groups(self, input: Tensor) -> Tensor:
        size = self.norm_batch_size
        if not self.training or size is None or len(input) <= size:
            return super().forward(input)
        normalise = super().forward  # a comprehension has no zero-argument super()
        return cat([normalise(group) for group in split(input, size)])

    def _fused(
        self, input: Tensor, plus: Tensor | None, add: Tensor | None, relu: bool
    ) -> tuple[Tensor, Tensor | None]:
        from rebatch.kernels.normalize import Statistics, normalize

        assert self.running_mean is not None
        assert self.running_var is not None
        assert self.num_batches_tracked is not None
        assert self.momentum is not None
        moving = Statistics(
            self.running_mean,
            self.running_var,
            self.num_batches_tracked,
            self.momentum,
            self.eps,
        )
        size = self.norm_batch_size or len(input)
        return normalize(
            input, self.weight, self.bias, moving, group=size, plus=plus, add=add, relu=relu
        )

    def extra_repr(self) -> str:
        """Name the group where ``print(model)`` shows the layer."""
        return f"{self.num_features}, norm_batch_size={self.norm_batch_size}"


def set_norm_batch_size(model: nn.Module, norm_batch_size: int | None) -> None:
    """Set the group of every ``GroupedBatchNorm2d`` of ``model``."""
    size = _group(norm_batch_size)
    for module in model.modules():
        if isinstance(module, GroupedBatchNorm2d):
            module.norm_batch_size = size


def has_batch_norm(model: nn.Module) -> bool:
    """Tell whether any layer of ``model`` takes statistics over a batch."""
    return any(isinstance(module, _BatchNorm) for module in model.modules())


def _group(size: int | None) -> int | None:
    return None if size is None else positive_int("norm_batch_size", size)
