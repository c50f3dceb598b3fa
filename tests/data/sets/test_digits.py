from pathlib import Path

import numpy as np
import torch
from sklearn.datasets import load_digits

import rebatch.data.sets
from rebatch.data.sets import load


def test_the_digits_are_those_of_scikit_learn_in_the_same_order():
    theirs, ours = load_digits(), load("digits")
    images = torch.cat([ours.train_images, ours.test_images]).squeeze(1)
    labels = torch.cat([ours.train_labels, ours.test_labels])
    np.testing.assert_array_equal(images.numpy(), theirs.images)
    np.testing.assert_array_equal(labels.numpy(), theirs.target)


def test_the_digits_are_uint8_images_of_one_channel_with_a_peak_of_16():
    digits = load("digits")
    assert digits.train_images.shape == (1437, 1, 8, 8)
    assert digits.train_images.dtype == torch.uint8
    assert digits.test_labels.shape == (360,)
    assert digits.test_labels.dtype == torch.int64
    assert int(digits.train_images.max()) == digits.peak == 16


def test_the_file_in_the_package_is_small():
    folder = Path(rebatch.data.sets.__file__).parent
    assert (folder / "digits.npz").stat().st_size < 60_000
