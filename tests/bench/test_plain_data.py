from itertools import islice

import torch
from torch.utils.data import TensorDataset

from rebatch.bench.plain_data import (
    Augmented,
    columns,
    cut_pairs,
    from_workers,
    images_on_device,
    pairs_on_device,
)

CPU = torch.device("cpu")


def test_a_stream_is_cut_in_columns_over_and_over():
    batches = columns(torch.arange(10), batch_size=2, bptt=3)
    (first, targets), (rest, _), (again, _) = islice(batches, 3)
    assert first.tolist() == [[0, 5], [1, 6], [2, 7]]
    assert targets.tolist() == [1, 6, 2, 7, 3, 8]
    assert rest.tolist() == [[3, 8]]
    assert again.tolist() == first.tolist()


def test_images_on_the_device_are_shifted_each_by_itself():
    torch.manual_seed(0)
    image = torch.arange(1, 65, dtype=torch.uint8).view(1, 1, 8, 8)
    batches = images_on_device(
        image.expand(64, 1, 8, 8), torch.arange(64), 64, peak=1, mode="zero", look=None
    )
    images, labels = next(batches)
    assert sorted(labels.tolist()) == list(range(64))
    assert len({tuple(each.flatten().tolist()) for each in images}) > 40
    for each in images:
        kept = each[each > 0].long().tolist()
        assert len(kept) >= 16  # at most 4 rows and 4 columns are shifted out
        assert len(set(kept)) == len(kept)


def test_an_image_in_a_worker_is_shifted_as_a_batch_is():
    torch.manual_seed(0)
    image = torch.arange(1, 65, dtype=torch.uint8).view(1, 1, 8, 8)
    data = Augmented(TensorDataset(image, torch.zeros(1)), peak=1, mode="zero", look=None)
    alone = {tuple(data[0][0].flatten().tolist()) for _ in range(4000)}
    batches = images_on_device(
        image.expand(4000, 1, 8, 8), torch.zeros(4000), 4000, peak=1, mode="zero", look=None
    )
    together = {tuple(each.flatten().tolist()) for each in next(batches)[0]}
    assert alone == together
    assert len(alone) == 9 * 9 * 2


def test_without_augmentation_images_are_only_scaled():
    images = torch.full((2, 1, 2, 2), 8, dtype=torch.uint8)
    data = Augmented(
        TensorDataset(images, torch.zeros(2)), peak=16, mode="none", look=lambda image: image - 1
    )
    assert data[1][0].tolist() == [[[-0.5, -0.5], [-0.5, -0.5]]]
    assert len(data) == 2


def test_workers_give_batches_beyond_the_end_of_the_data():
    data = TensorDataset(torch.arange(5), torch.arange(5))
    batches = from_workers(data, 3, CPU)
    sizes = [len(labels) for _, labels in islice(batches, 4)]
    batches.close()
    assert sizes == [3, 2, 3, 2]


def test_pairs_are_cut_at_their_longest():
    premises = torch.tensor([[1, 2, 0, 0], [1, 0, 0, 0]])
    hypotheses = torch.tensor([[3, 0, 0, 0], [3, 4, 5, 0]])
    labels = torch.tensor([0, 1])
    rows = list(zip(premises, hypotheses, labels, strict=True))
    assert [tensor.shape for tensor in cut_pairs(rows)] == [(2, 2), (2, 3), (2,)]
    batch = next(pairs_on_device((premises, hypotheses, labels), 2, CPU))
    assert [tensor.shape for tensor in batch] == [(2, 2), (2, 3), (2,)]
    order = batch[2]
    assert batch[1].tolist() == hypotheses[order, :3].tolist()
