"""What FSDP does in one of two processes that a plan feeds: printed as JSON for test_fsdp.py."""

import json
import os
import sys
from pathlib import Path

import torch
from accelerate import Accelerator, FullyShardedDataParallelPlugin, PartialState
from accelerate.state import AcceleratorState, GradientState
from accelerate.utils import DistributedType, set_seed
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FullyShardedDataParallel, fully_shard
from torch.utils.data import TensorDataset

import rebatch
from rebatch.integrations.accelerate import PlannedLoader


def accelerator(plugin=None):
    AcceleratorState._reset_state()
    GradientState._reset_state()
    return Accelerator(cpu=True, fsdp_plugin=plugin)


def network():
    set_seed(0)
    model = nn.Sequential(nn.Linear(6, 12), nn.Tanh(), nn.Linear(12, 3)).double()
    return model, lambda: torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)


def data():
    generator = torch.Generator().manual_seed(1)
    inputs = torch.randn(21, 6, generator=generator, dtype=torch.float64)
    return TensorDataset(inputs, torch.randn(21, 3, generator=generator, dtype=torch.float64))


def loader(accelerator):
    """Return the pieces of five updates of 4, one of 1 (a filler beside it), then 8, 8 and 5."""
    plan = rebatch.plan(rebatch.cyclical(4, width=1, steps=2), epochs=2, examples=21)
    return PlannedLoader(accelerator, data(), plan, micro_batch_size=3)


def train(accelerator, fed, model, optimizer, *, hold=None, folder=None):
    """Walk the plan; return for every piece whether it is the last and whether it left a gradient.

    With a folder the state is saved there after update 7, in the middle of the second epoch.
    """
    left = []
    for _ in fed.epochs():
        for piece, (inputs, targets) in fed:
            if hold:
                hold(piece.last)
            with fed.accumulate(piece, model):
                loss = nn.functional.mse_loss(model(inputs), targets)
                accelerator.backward(loss * piece.weight)
                left.append((piece.last, next(model.parameters()).grad is not None))
                optimizer.step()
                optimizer.zero_grad()
            if folder and piece.last and piece.update == 7:
                accelerator.save_state(folder)
    return left


def flat(tensors):
    return torch.cat([tensor.detach().flatten() for tensor in tensors]).tolist()


def whole(model):
    return flat(weight.full_tensor() for weight in model.parameters())


def wrapped():
    """The first FSDP, put around the model by hand."""
    ours = accelerator()
    model = FullyShardedDataParallel(network()[0], device_id=torch.device("cpu"))
    optimizer = ours.prepare(torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9))
    train(ours, loader(ours), model, optimizer)
    return {"weights": flat(model.state_dict().values())}


def sharded(*, hold):
    """The second FSDP, put in the model by hand: it is told itself to hold the gradients back."""
    ours, (model, made) = accelerator(), network()
    mesh = init_device_mesh("cpu", (2,))
    for part in (model[0], model[2], model):
        fully_shard(part, mesh=mesh)
    optimizer = ours.prepare(made())
    told = model.set_requires_gradient_sync if hold else None
    left = train(ours, loader(ours), model, optimizer, hold=told)
    return {"weights": whole(model), "left": left}


def accelerator_of_version(version):
    ours = accelerator()
    PartialState().distributed_type = ours.state.distributed_type = DistributedType.FSDP
    ours.state.fsdp_plugin = FullyShardedDataParallelPlugin(fsdp_version=version)
    return ours


def prepared(folder, *, resume=False):
    """The second FSDP as Accelerate prepares it.

    Accelerate takes FSDP only where it sees an accelerator, so it is told that it has taken it.
    """
    ours = accelerator_of_version(2)
    model, made = network()
    model, optimizer = ours.prepare(model, made())
    fed = loader(ours)
    if resume:
        ours.load_state(folder)
    left = train(ours, fed, model, optimizer, folder=None if resume else folder)
    PartialState().distributed_type = DistributedType.MULTI_CPU
    return {
        "weights": whole(model),
        "left": left,
        "part": next(model.parameters()).to_local().numel(),
    }


def first_prepared():
    """The complaint about the first FSDP as Accelerate prepares it."""
    ours, (model, made) = accelerator_of_version(1), network()
    try:
        ours.prepare(model, made())
    except ValueError as error:
        return str(error)
    finally:
        PartialState().distributed_type = DistributedType.MULTI_CPU


def on_processors():
    """Ask Accelerate for FSDP in processes that have no accelerator."""
    ours, (model, made) = accelerator(FullyShardedDataParallelPlugin(fsdp_version=2)), network()
    model, _ = ours.prepare(model, made())
    del os.environ["ACCELERATE_USE_FSDP"]
    return {"taken": ours.distributed_type.value, "model": type(model).__name__}


def main():
    folder = str(Path(sys.argv[1]) / "state")
    found = {
        "wrapped": wrapped(),
        "sharded": sharded(hold=True),
        "sharded and not held": sharded(hold=False),
        "prepared": prepared(folder),
        "resumed": prepared(folder, resume=True),
        "first prepared": first_prepared(),
        "on processors": on_processors(),
        "data": [values.tolist() for values in data().tensors],
    }
    print(json.dumps(found))
