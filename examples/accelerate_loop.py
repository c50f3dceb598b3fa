"""Train with Hugging Face Accelerate while the batch size goes 40, 10, 20 and round again.

    python examples/accelerate_loop.py runs/accelerate
    accelerate launch --cpu --num_processes 2 examples/accelerate_loop.py runs/accelerate

Stop it at any time: run again, it goes on with the samples it has not seen.
"""

import sys
from pathlib import Path

import torch
from accelerate import Accelerator  # type: ignore[import-untyped]
from torch.utils.data import TensorDataset

import rebatch
from rebatch.integrations.accelerate import PlannedLoader

SIZES = (40, 10, 20)


def toy_data() -> TensorDataset:
    """Return 960 points of a curve with noise."""
    generator = torch.Generator().manual_seed(0)
    x = torch.rand(960, 1, generator=generator) * 6 - 3
    return TensorDataset(x, x.sin() + 0.1 * torch.randn(960, 1, generator=generator))


def main(folder: Path) -> None:
    """Train for six epochs, two rounds of the sizes, with a checkpoint every 50 updates."""
    accelerator = Accelerator(cpu=True)
    schedule = rebatch.from_function(lambda epoch: SIZES[epoch % 3])
    plan = rebatch.plan(schedule, epochs=6, examples=960)
    loader = PlannedLoader(accelerator, toy_data(), plan, seed=0, micro_batch_size=16)

    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(1, 32), torch.nn.Tanh(), torch.nn.Linear(32, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.1, total_steps=plan.updates)
    model, optimizer, scheduler = accelerator.prepare(model, optimizer, scheduler)
    if (folder / "model.safetensors").exists():
        accelerator.load_state(str(folder))

    for epoch in loader.epochs():
        for piece, (x, y) in loader:
            with loader.accumulate(piece, model):
                loss = torch.nn.functional.mse_loss(model(x), y)
                accelerator.backward(loss * piece.weight)
                optimizer.step()  # does nothing before the last piece of an update,
                scheduler.step()  # nor does this
                optimizer.zero_grad()
            if piece.last and (piece.update + 1) % 50 == 0:
                accelerator.save_state(str(folder))
                accelerator.log({"batch_size": piece.batch_size}, step=piece.update + 1)
        accelerator.print(f"epoch {epoch}: batch size {SIZES[epoch % 3]}, loss {loss.item():.3f}")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]))
