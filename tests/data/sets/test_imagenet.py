import pickle
from pathlib import Path

import pytest
import torch
from PIL import Image
from torch.utils.data import DataLoader

from rebatch.data.sets import load
from rebatch.errors import InputError, RunError


@pytest.fixture
def root(tmp_path: Path) -> Path:
    noise = torch.randint(0, 256, (40, 50, 3), generator=torch.Generator().manual_seed(0))
    picture = Image.fromarray(noise.to(torch.uint8).numpy())
    for name in (
        "train/n02/n02_7",
        "train/n01/n01_5",
        "train/n01/n01_12",
        "val/n01/v_1",
        "val/n02/v_2",
    ):
        path = tmp_path / "imagenet" / f"{name}.JPEG"
        path.parent.mkdir(parents=True, exist_ok=True)
        picture.save(path)
    (tmp_path / "imagenet/train/n01/notes.txt").write_text("not an image")
    return tmp_path


def test_images_and_labels_follow_the_sorted_folders(root: Path):
    sets = load("imagenet", root)
    assert sets.counts == {"train": 3, "valid": 2, "classes": 2}
    assert sets.train.classes == ("n01", "n02")
    assert sets.train.names.tolist() == [b"n01_12.JPEG", b"n01_5.JPEG", b"n02_7.JPEG"]
    assert [label for _, label in (sets.train[n] for n in range(3))] == [0, 0, 1]
    assert sets.train[0][0].shape == sets.valid[0][0].shape == (3, 224, 224)


def test_crops_change_with_epoch_index_and_seed_and_with_nothing_else(root: Path):
    train = load("imagenet", root).train
    first = train[0][0]
    assert torch.equal(first, load("imagenet", root).train[0][0])
    assert not torch.equal(first, train[1][0])
    assert not torch.equal(first, load("imagenet", root, seed=1).train[0][0])
    train.set_epoch(1)
    assert not torch.equal(first, train[0][0])
    train.set_epoch(0)
    assert torch.equal(first, train[0][0])


def test_evaluation_is_the_same_in_every_epoch(root: Path):
    valid = load("imagenet", root).valid
    first = valid[0][0]
    valid.set_epoch(5)
    assert torch.equal(first, valid[0][0])


def test_workers_that_outlive_an_epoch_draw_the_crops_of_the_next(root: Path):
    train = load("imagenet", root).train
    loader = DataLoader(train, batch_size=3, num_workers=1, persistent_workers=True)
    for epoch in (0, 1):
        train.set_epoch(epoch)
        images, _ = next(iter(loader))
        assert torch.equal(images, torch.stack([train[n][0] for n in range(3)]))


def test_a_pickled_copy_reads_the_same(root: Path):
    train = load("imagenet", root).train
    assert torch.equal(pickle.loads(pickle.dumps(train))[2][0], train[2][0])


def test_a_missing_folder_says_how_to_get_it(root: Path, tmp_path: Path):
    with pytest.raises(
        InputError, match=r"imagenet/train, got .*; ask for it at https://image-net"
    ):
        load("imagenet", tmp_path / "elsewhere")


def test_classes_must_be_the_same_in_both_folders(root: Path):
    (root / "imagenet/val/n03").mkdir()
    (root / "imagenet/val/n03/a.JPEG").touch()
    with pytest.raises(RunError, match="n03 is not in both train and val"):
        load("imagenet", root)


def test_an_empty_class_and_a_flat_folder_are_refused(root: Path):
    (root / "imagenet/val/n03").mkdir()
    with pytest.raises(RunError, match="n03 is not a class: no image in it"):
        load("imagenet", root)
    for folder in (root / "imagenet/val").iterdir():
        folder.rename(root / folder.name)
    with pytest.raises(RunError, match="val is not a folder of classes"):
        load("imagenet", root)
