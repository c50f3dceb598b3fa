"""Train in a loop of your own under CBS-2, keep a snapshot a cycle, and ask them together.

    python examples/own_loop.py runs/own

Stop it at any time: run again, it goes on with the samples it has not seen.
"""

import sys
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

import rebatch
from rebatch.data import PlannedBatchSampler, pieces
from rebatch.data.sets import load


def save(state: Any, path: Path) -> None:
    """Write a file that is there whole or not at all."""
    draft = path.with_suffix(".draft")
    torch.save(state, draft)
    draft.replace(path)


def judge(model: nn.Module, snapshots: list[Path], images: Tensor, labels: Tensor) -> None:
    """Print the accuracy of each snapshot, and that of their mean probabilities."""
    members = {}
    for number, path in enumerate(snapshots):
        model.load_state_dict(torch.load(path, weights_only=True))
        with torch.no_grad():
            members[str(number)] = model.eval()(images).softmax(dim=1)
    members["together"] = torch.stack(list(members.values())).mean(dim=0)
    for name, probabilities in members.items():
        right = (probabilities.argmax(dim=1) == labels).double().mean().item()
        print(f"snapshots, {name}: {100 * right:.2f} % of the test images")


def main(folder: Path) -> None:
    """Train three cycles of 16, 32, 64 and 128 on the digits that come with rebatch."""
    folder.mkdir(parents=True, exist_ok=True)
    digits = load("digits")
    images, test_images = digits.train_images / digits.peak, digits.test_images / digits.peak
    plan = rebatch.plan(rebatch.cyclical(16, width=2), epochs=24, examples=len(images))
    sampler = PlannedBatchSampler(plan, seed=0, micro_batch_size=64)
    dataset = TensorDataset(images, digits.train_labels)
    loader = DataLoader(dataset, batch_sampler=sampler, num_workers=2, persistent_workers=True)

    torch.manual_seed(0)
    model = nn.Sequential(nn.Flatten(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
    rate = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=plan.updates)
    parts: dict[str, Any] = {"model": model, "optimizer": optimizer, "rate": rate}
    parts["sampler"] = sampler
    checkpoint = folder / "checkpoint.pt"
    if checkpoint.exists():
        for name, state in torch.load(checkpoint, weights_only=True).items():
            parts[name].load_state_dict(state)

    ends = [row.first_update + row.updates for row in plan.rows if row.ends_cycle]
    for epoch in range(sampler.epoch, 24):
        sampler.set_epoch(epoch)
        for piece, (inputs, labels) in pieces(sampler, loader):
            loss = nn.functional.cross_entropy(model(inputs), labels)
            (loss * piece.weight).backward()  # type: ignore[no-untyped-call]
            if not piece.last:
                continue
            optimizer.step()
            rate.step()
            optimizer.zero_grad()
            done = piece.update + 1
            if done in ends:  # a cycle is over: its snapshot, before the batch size drops
                save(model.state_dict(), folder / f"snapshot-{ends.index(done)}.pt")
            if done % 100 == 0:
                states = {name: part.state_dict() for name, part in parts.items()}
                # Workers draw ahead, so only the loop knows how many updates are done.
                states["sampler"] = sampler.state_dict(updates_done=piece.updates_done)
                save(states, checkpoint)
        size = plan.batch_size_at(piece.update)
        print(f"epoch {epoch}: batch size {size}, {done} of {plan.updates} updates")

    snapshots = [folder / f"snapshot-{number}.pt" for number in range(len(ends))]
    judge(model, snapshots, test_images, digits.test_labels)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]))
