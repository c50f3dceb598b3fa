import pytest
import torch

from rebatch.bench.cells import Cell
from rebatch.bench.generated import GeneratedFolder, generate


def test_text_has_the_vocabulary_of_penn_treebank_and_common_words():
    data = generate(Cell("L1", 10).recipe, 0.01)
    assert len(data.train) == 9295
    assert len(data.vocabulary) == 10_000
    assert (data.train == 0).sum() > 20 * (data.train == 500).sum()


def test_images_are_of_the_shape_of_cifar():
    data = generate(Cell("C1", 128).recipe, 0.002)
    assert data.train_images.shape == (100, 3, 32, 32)
    assert data.train_images.dtype == torch.uint8
    assert data.num_classes == 10


def test_pairs_are_padded_at_the_end_alone():
    split = generate(Cell("E1", 32).recipe, 0.0005)["train"]
    lengths = (split.premises != 0).sum(1)
    assert split.premises.shape == (274, 50)
    assert int(lengths.min()) >= 3
    assert 12 < float(lengths.double().mean()) < 16
    assert all(
        (row[:length] != 0).all() for row, length in zip(split.premises, lengths, strict=True)
    )


def test_a_folder_is_as_long_as_imagenet():
    folder = generate(Cell("I1", 64).recipe).train
    assert isinstance(folder, GeneratedFolder)
    image, label = folder[1_281_166]
    assert len(folder) == 1_281_167
    assert image.shape == (3, 224, 224)
    assert label == 166


@pytest.mark.parametrize(("share", "count"), [(1.0, 1437), (0.01, 143)])
def test_digits_are_few_but_never_too_few(share, count):
    assert len(generate(Cell("demo", 16).recipe, share).train_labels) == count
