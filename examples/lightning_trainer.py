"""Train with Lightning's Trainer while the batch size goes 40, 10, 20 and round again.

    python examples/lightning_trainer.py runs/lightning       # or, on two devices:
    python examples/lightning_trainer.py runs/lightning 2

Stop it at any time: run again, it goes on with the samples it has not seen.
"""

import sys
from pathlib import Path

import lightning.pytorch as pl
import torch
from lightning.pytorch.callbacks import ModelCheckpoint
from lightning.pytorch.utilities.types import OptimizerLRSchedulerConfig
from torch import Tensor, nn
from torch.utils.data import TensorDataset

import rebatch
from rebatch.integrations.lightning import BatchSizeSchedule


class Curve(pl.LightningModule):
    """A module as any other: nothing in it knows of the schedule."""

    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 1))

    def training_step(self, batch: list[Tensor]) -> Tensor:
        return nn.functional.mse_loss(self.net(batch[0]), batch[1])

    def on_train_epoch_end(self) -> None:
        size = self.trainer.callback_metrics["batch_size"]
        self.print(f"epoch {self.current_epoch}: batch size {size:.0f}, {self.global_step} updates")

    def configure_optimizers(self) -> OptimizerLRSchedulerConfig:
        optimizer = torch.optim.SGD(self.parameters(), lr=0.1, momentum=0.9)
        updates = int(self.trainer.estimated_stepping_batches)  # those of the plan
        rate = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.1, total_steps=updates)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": rate, "interval": "step"}}


def main(folder: Path, devices: int = 1) -> None:
    """Train for six epochs, two rounds of the sizes, with a checkpoint every 50 updates."""
    x = torch.linspace(-3, 3, 960)[:, None]
    sizes = rebatch.from_function(lambda epoch: (40, 10, 20)[epoch % 3])
    plan = rebatch.plan(sizes, epochs=6, examples=960)
    schedule = BatchSizeSchedule(plan, seed=0, micro_batch_size=16)
    saved = ModelCheckpoint(folder, "last", every_n_train_steps=50, enable_version_counter=False)
    trainer = pl.Trainer(
        accelerator="cpu", devices=devices, max_epochs=6, callbacks=[schedule, saved], logger=False
    )
    last = folder / "last.ckpt" if (folder / "last.ckpt").exists() else None
    trainer.fit(Curve(), schedule.loader(TensorDataset(x, x.sin())), ckpt_path=last)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]), *map(int, sys.argv[2:]))
