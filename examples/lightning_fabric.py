"""Train with Lightning Fabric while the batch size goes 40, 10, 20 and round again.

    python examples/lightning_fabric.py runs/fabric.ckpt      # or, on two devices:
    python examples/lightning_fabric.py runs/fabric.ckpt 2

Stop it at any time: run again, it goes on with the samples it has not seen.
"""

import sys
from pathlib import Path
from typing import Any

import torch
from lightning.fabric import Fabric
from torch import nn
from torch.utils.data import TensorDataset

import rebatch
from rebatch.data import PlannedBatchSampler, pieces
from rebatch.integrations.fabric import fabric_loader


def main(path: Path, devices: int = 1) -> None:
    """Train for six epochs, two rounds of the sizes, with a checkpoint every 50 updates."""
    fabric = Fabric(accelerator="cpu", devices=devices)
    fabric.launch()
    x = torch.linspace(-3, 3, 960)[:, None]
    sizes = rebatch.from_function(lambda epoch: (40, 10, 20)[epoch % 3])
    plan = rebatch.plan(sizes, epochs=6, examples=960)
    rank, world_size = fabric.global_rank, fabric.world_size
    sampler = PlannedBatchSampler(plan, rank=rank, world_size=world_size, micro_batch_size=16)
    loader = fabric_loader(fabric, TensorDataset(x, x.sin()), sampler)

    net = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 1))
    model, optimizer = fabric.setup(net, torch.optim.SGD(net.parameters(), lr=0.1))
    state: dict[str, Any] = {"model": model, "optimizer": optimizer}
    if path.exists():
        sampler.load_state_dict(fabric.load(path, state)["position"])

    for epoch in range(sampler.epoch, 6):
        sampler.set_epoch(epoch)
        for piece, (inputs, targets) in pieces(sampler, loader):
            with fabric.no_backward_sync(model, enabled=not piece.last):
                loss = nn.functional.mse_loss(model(inputs), targets)
                fabric.backward(loss * piece.weight)
            if not piece.last:
                continue
            optimizer.step()
            optimizer.zero_grad()
            if (piece.update + 1) % 50 == 0:
                fabric.log("batch_size", piece.batch_size, step=piece.update + 1)
                position = sampler.state_dict(updates_done=piece.updates_done)
                draft = path.with_suffix(".draft")  # so that a kill leaves a whole file
                fabric.save(draft, {**state, "position": position})
                if fabric.is_global_zero:
                    draft.replace(path)
        fabric.print(f"epoch {epoch}: batch size {piece.batch_size}, {piece.update + 1} updates")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]), *map(int, sys.argv[2:]))
