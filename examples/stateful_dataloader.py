"""Train from torchdata's StatefulDataLoader while the batch size goes 40, 10, 20 and round again.

    python examples/stateful_dataloader.py runs/stateful.pt

Stop it at any time: run again, it goes on with the samples it has not seen.
"""

import sys
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.utils.data import TensorDataset

import rebatch
from rebatch.data import PlannedBatchSampler, pieces
from rebatch.integrations.torchdata import PlannedDataLoader


def main(path: Path) -> None:
    """Train for six epochs, two rounds of the sizes, with a checkpoint every 50 updates."""
    path.parent.mkdir(parents=True, exist_ok=True)
    x = torch.linspace(-3, 3, 960)[:, None]
    sizes = rebatch.from_function(lambda epoch: (40, 10, 20)[epoch % 3])
    plan = rebatch.plan(sizes, epochs=6, examples=960)
    sampler = PlannedBatchSampler(plan, seed=0)
    loader = PlannedDataLoader(TensorDataset(x, x.sin()), sampler, num_workers=2)

    model = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    parts: dict[str, Any] = {"model": model, "optimizer": optimizer, "loader": loader}
    if path.exists():
        for name, state in torch.load(path, weights_only=True).items():
            parts[name].load_state_dict(state)

    for epoch in range(sampler.epoch, 6):
        sampler.set_epoch(epoch)
        for piece, (inputs, targets) in pieces(sampler, loader):
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(inputs), targets)
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            if (piece.update + 1) % 50 == 0:
                draft = path.with_suffix(".draft")  # so that a kill leaves a whole file
                torch.save({name: part.state_dict() for name, part in parts.items()}, draft)
                draft.replace(path)
        print(f"epoch {epoch}: batch size {piece.batch_size}, {piece.update + 1} updates")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]))
