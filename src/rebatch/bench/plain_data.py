"""Batches as a plain loop gets them: from worker processes, or from tensors on the device."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import pad
from torch.utils.data import DataLoader, Dataset, TensorDataset, default_collate

from rebatch._cores import cores
from rebatch.bench.plain import Batches

PADDING = 4
Look = Callable[[Tensor], Tensor]


def workers() -> int:
    """Return how many worker processes a plain loop is given: 8, or one a processor if fewer."""
    return min(8, cores())


class Augmented(Dataset[tuple[Tensor, Tensor]]):
    """Images that are scaled, shifted and mirrored one at a time, when they are asked for."""

    def __init__(self, data: Dataset[Any], *, peak: int, mode: str, look: Look | None) -> None:
        """Pad with zeros or by reflection, as ``mode`` says; ``look`` normalises an image."""
        self.data, self.peak, self.mode, self.look = data, peak, mode, look

    def __len__(self) -> int:
        size: int = len(self.data)  # type: ignore[arg-type]
        return size

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        image, label = self.data[index]
        image = image.float() / self.peak
        if self.mode != "none":
            image = _cropped(image, self.mode)
        return image if self.look is None else self.look(image), label


def from_workers(
    data: Dataset[Any],
    batch_size: int,
    device: torch.device,
    collate: Callable[[list[Any]], Any] = default_collate,
) -> Batches:
    """Yield shuffled batches without end, made by worker processes that stay between epochs."""
    loader = DataLoader(
        data,
        batch_size,
        shuffle=True,
        num_workers=workers(),
        persistent_workers=True,
        pin_memory=device.type == "cuda",
        collate_fn=collate,
    )
    while True:
        for batch in loader:
            yield tuple(tensor.to(device, non_blocking=True) for tensor in batch)


def images_on_device(
    images: Tensor, labels: Tensor, batch_size: int, *, peak: int, mode: str, look: Look | None
) -> Batches:
    """Yield shuffled batches without end from tensors, shifted and mirrored a batch at a time."""
    for chosen in _chosen(len(labels), batch_size, labels.device):
        batch = images[chosen].float() / peak
        if mode != "none":
            batch = _all_cropped(batch, mode)
        yield batch if look is None else look(batch), labels[chosen]


def columns(tokens: Tensor, batch_size: int, bptt: int) -> Batches:
    """Yield segments without end of a stream that is laid out in columns on its device."""
    rows = len(tokens) // batch_size
    table = tokens[: rows * batch_size].view(batch_size, rows).t().contiguous()
    while True:
        for top in range(0, rows - 1, bptt):
            end = min(top + bptt, rows - 1)
            yield table[top:end], table[top + 1 : end + 1].reshape(-1)


def pairs_on_device(pairs: Sequence[Tensor], batch_size: int, device: torch.device) -> Batches:
    """Yield shuffled pairs of sentences without end, cut at the longest of the batch."""
    lengths = [(sentences != 0).sum(1) for sentences in pairs[:2]]
    held = [tensor.to(device) for tensor in pairs]
    for chosen in _chosen(len(pairs[-1]), batch_size, torch.device("cpu")):
        longest = [int(length[chosen].max()) for length in lengths]
        there = chosen.to(device)
        premises, hypotheses = (held[n][there, : longest[n]] for n in range(2))
        yield premises, hypotheses, held[2][there]


def cut_pairs(rows: list[tuple[Tensor, ...]]) -> tuple[Tensor, ...]:
    """Collect padded pairs into a batch, cut at its longest sentences."""
    premises, hypotheses, labels = default_collate(rows)
    premises, hypotheses = (
        sentences[:, : int((sentences != 0).sum(1).max())] for sentences in (premises, hypotheses)
    )
    return premises, hypotheses, labels


def pair_data(pairs: Sequence[Tensor]) -> Dataset[tuple[Tensor, ...]]:
    """Return padded sentences as a data set."""
    return TensorDataset(*pairs)


def _chosen(count: int, batch_size: int, device: torch.device) -> Iterator[Tensor]:
    while True:
        yield from torch.split(torch.randperm(count, device=device), batch_size)


def _cropped(image: Tensor, mode: str) -> Tensor:
    padded = _padded(image, mode)
    top, left = torch.randint(2 * PADDING + 1, (2,)).tolist()
    cut = padded[:, top : top + image.shape[1], left : left + image.shape[2]]
    return cut.flip(2) if torch.rand(()) < 0.5 else cut


def _all_cropped(images: Tensor, mode: str) -> Tensor:
    """Shift every image of a batch by its own amount, and mirror every second."""
    count, _, height, width = images.shape
    at = images.device
    top, left = torch.randint(2 * PADDING + 1, (2, count, 1), device=at).unbind(0)
    rows = top + torch.arange(height, device=at)
    across = left + torch.arange(width, device=at)
    across = torch.where(torch.rand(count, 1, device=at) < 0.5, across.flip(1), across)
    numbers = torch.arange(count, device=at).view(-1, 1, 1)
    # Two lists of places with a slice between them: the channels come last.
    cut = _padded(images, mode)[numbers, :, rows.unsqueeze(2), across.unsqueeze(1)]
    return cut.permute(0, 3, 1, 2).contiguous()


def _padded(images: Tensor, mode: str) -> Tensor:
    return pad(images, [PADDING] * 4, mode="constant" if mode == "zero" else "reflect")
