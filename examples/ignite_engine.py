"""Train with an ignite Engine while the batch size goes 40, 10, 20 and round again.

    python examples/ignite_engine.py runs/ignite
    torchrun --nproc-per-node 2 examples/ignite_engine.py runs/ignite

Stop it at any time: run again, it goes on with the samples it has not seen.
"""

import os
import sys
from pathlib import Path

import ignite.distributed as idist
import torch
from ignite.engine import Engine, Events
from ignite.handlers import Checkpoint, DiskSaver, ProgressBar
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

import rebatch
from rebatch.data import Piece, PlannedBatchSampler
from rebatch.integrations.ignite import attach


def main(_: int, folder: Path) -> None:
    """Train for six epochs, two rounds of the sizes, with a checkpoint every 50 batches."""
    x = torch.linspace(-3, 3, 960)[:, None]
    sizes = rebatch.from_function(lambda epoch: (40, 10, 20)[epoch % 3])
    plan = rebatch.plan(sizes, epochs=6, examples=960)
    rank, world_size = idist.get_rank(), idist.get_world_size()
    sampler = PlannedBatchSampler(plan, rank=rank, world_size=world_size, micro_batch_size=16)
    model = idist.auto_model(nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 1)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step(engine: Engine, batch: list[Tensor]) -> float:
        piece: Piece = engine.state.piece  # type: ignore[attr-defined]
        loss = nn.functional.mse_loss(model(batch[0]), batch[1]) * piece.weight
        loss.backward()  # type: ignore[no-untyped-call]
        if piece.last:
            optimizer.step()
            optimizer.zero_grad()
        return loss.item()

    trainer = Engine(step)
    attach(trainer, sampler)
    objects = {"trainer": trainer, "model": model, "optimizer": optimizer}
    saved = Checkpoint(objects, DiskSaver(folder, require_empty=False), filename_pattern="last.pt")
    trainer.add_event_handler(Events.ITERATION_COMPLETED(every=50), saved)
    if rank == 0:
        ProgressBar(persist=True, file=sys.stdout).attach(trainer, state_attributes=["batch_size"])
    if (folder / "last.pt").exists():
        Checkpoint.load_objects(objects, torch.load(folder / "last.pt", weights_only=True))
    trainer.run(DataLoader(TensorDataset(x, x.sin()), batch_sampler=sampler), max_epochs=6)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    backend = "gloo" if "WORLD_SIZE" in os.environ else None
    with idist.Parallel(backend) as parallel:  # type: ignore[attr-defined]
        parallel.run(main, Path(sys.argv[1]))
