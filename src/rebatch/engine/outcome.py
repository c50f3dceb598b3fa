"""What an update tells."""

from typing import NamedTuple

from torch import Tensor

from rebatch.engine.gauges import NoiseSample
from rebatch.engine.task import Memory


class Outcome(NamedTuple):
    """What an update tells, still on the device; good until the next update."""

    loss: Tensor
    correct: Tensor | None
    norm: Tensor
    """Norm of the gradient before clipping."""
    memory: Memory
    """What the model carries on: of several ranks, the columns of this one."""
    noise: NoiseSample | None
