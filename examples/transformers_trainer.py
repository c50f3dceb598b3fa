"""Train with the Transformers Trainer while the batch size goes 40, 10, 20 and round again.

    python examples/transformers_trainer.py runs/trainer
    torchrun --nproc_per_node 2 examples/transformers_trainer.py runs/trainer

Stop it at any time: run again, it goes on from its last checkpoint with the samples it has not
seen.
"""

import sys
from pathlib import Path

import torch
from torch.utils.data import Dataset
from transformers import BertConfig, BertForSequenceClassification, TrainingArguments

import rebatch
from rebatch.integrations.transformers import PlannedTrainer

TINY = BertConfig(
    vocab_size=20,
    hidden_size=16,
    num_hidden_layers=1,
    num_attention_heads=2,
    intermediate_size=32,
    max_position_embeddings=12,
)


class Sums(Dataset[dict[str, torch.Tensor]]):
    """960 rows of twelve numbers: is their mean above 9.5?"""

    def __init__(self) -> None:
        self.rows = torch.randint(0, 20, (960, 12), generator=torch.Generator().manual_seed(0))

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        row = self.rows[index]
        return {"input_ids": row, "labels": (row.sum() > 114).long()}


def main(folder: Path) -> None:
    schedule = rebatch.from_function(lambda epoch: (40, 10, 20)[epoch % 3])
    plan = rebatch.plan(schedule, epochs=6, examples=960)
    arguments = TrainingArguments(
        str(folder), learning_rate=0.01, logging_strategy="epoch", save_steps=50, use_cpu=True,
        dataloader_pin_memory=False, report_to=[], disable_tqdm=True
    )  # fmt: skip
    model = BertForSequenceClassification(TINY)  # type: ignore[no-untyped-call]
    trainer = PlannedTrainer(model, arguments, train_dataset=Sums(), plan=plan, micro_batch_size=16)
    trainer.train(resume_from_checkpoint=any(folder.glob("checkpoint-*")))


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]))
