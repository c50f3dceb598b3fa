import pickle
from pathlib import Path

import numpy as np
import pytest
import torch

from rebatch.data.sets import load
from rebatch.errors import InputError, RunError

TRAIN = [f"data_batch_{i}" for i in range(1, 6)]


def write_batch(path: Path, images: np.ndarray, key: str, labels: object) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(pickle.dumps({b"data": images, key.encode(): labels}, 4))


@pytest.fixture
def cifar10(tmp_path: Path) -> Path:
    for number, name in enumerate([*TRAIN, "test_batch"]):
        rows = np.full((2, 3072), number, np.uint8)
        rows[:, 1024:2048] = 100  # the green plane
        write_batch(tmp_path / "cifar-10-batches-py" / name, rows, "labels", [number, 9])
    return tmp_path


def test_cifar10_gives_batches_in_order_as_planes_and_labels(cifar10: Path):
    images = load("cifar10", cifar10)
    assert images.train_images.shape == (10, 3, 32, 32)
    assert images.train_images.dtype == torch.uint8
    assert images.train_images[2:4].unique().tolist() == [1, 100]
    assert images.train_images[0, 1].unique().tolist() == [100]
    assert images.train_labels.tolist() == [0, 9, 1, 9, 2, 9, 3, 9, 4, 9]
    assert images.test_labels.tolist() == [5, 9]
    assert images.test_labels.dtype == torch.int64
    assert (images.num_classes, images.peak) == (10, 255)


def test_cifar100_takes_the_fine_labels(tmp_path: Path):
    folder = tmp_path / "cifar-100-python"
    for name in ("train", "test"):
        write_batch(folder / name, np.zeros((2, 3072), np.uint8), "fine_labels", [0, 99])
    images = load("cifar100", tmp_path)
    assert images.train_labels.tolist() == [0, 99]
    assert images.num_classes == 100


def test_a_missing_batch_says_what_to_run(cifar10: Path):
    (cifar10 / "cifar-10-batches-py" / "data_batch_3").unlink()
    with pytest.raises(InputError) as error:
        load("cifar10", cifar10)
    assert str(error.value) == (
        f"data must hold cifar-10-batches-py/data_batch_3, got {cifar10} without it; "
        f"run: rebatch data get cifar10 --data {cifar10}"
    )


def test_a_truncated_batch_is_named(cifar10: Path):
    batch = cifar10 / "cifar-10-batches-py" / "data_batch_2"
    batch.write_bytes(batch.read_bytes()[:-100])
    with pytest.raises(RunError, match="data_batch_2 is not a readable data file"):
        load("cifar10", cifar10)


@pytest.mark.parametrize(
    ("shape", "labels"),
    [
        ((2, 3071), [0, 1]),
        ((3, 3072), [0, 1]),
        ((2, 3072), [0, 10]),
        ((2, 3072), [-1, 0]),
        ((0, 3072), []),
    ],
)
def test_wrong_shapes_and_labels_are_refused(
    cifar10: Path, shape: tuple[int, int], labels: list[int]
):
    write_batch(
        cifar10 / "cifar-10-batches-py/test_batch", np.zeros(shape, np.uint8), "labels", labels
    )
    with pytest.raises(RunError, match="test_batch is not a CIFAR batch"):
        load("cifar10", cifar10)


@pytest.mark.parametrize(
    "foreign", [{"a": 1}, {"data": [1], "labels": [1]}, {"data": None, "labels": None}]
)
def test_a_foreign_pickle_is_refused(cifar10: Path, foreign: dict[str, object]):
    (cifar10 / "cifar-10-batches-py/test_batch").write_bytes(pickle.dumps(foreign))
    with pytest.raises(RunError, match="test_batch is not a CIFAR batch"):
        load("cifar10", cifar10)
