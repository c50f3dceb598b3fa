import random
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from rebatch.data.sets.crops import decode, evaluation_crop, random_box, training_crop
from rebatch.errors import RunError


def gradient(width: int, height: int) -> Image.Image:
    """Red grows to the right, green downwards."""
    x, y = np.meshgrid(np.linspace(0, 255, width), np.linspace(0, 255, height))
    return Image.fromarray(np.stack([x, y, np.zeros_like(x)], axis=2).astype(np.uint8))


def test_a_random_box_lies_inside_and_keeps_area_and_aspect():
    chance = random.Random(0)
    for _ in range(500):
        left, top, right, bottom = random_box(500, 375, chance)
        assert 0 <= left < right <= 500
        assert 0 <= top < bottom <= 375
        assert 0.079 <= (right - left) * (bottom - top) / (500 * 375) <= 1
        assert 0.74 <= (right - left) / (bottom - top) <= 1.35


def test_as_many_boxes_are_wide_as_high():
    chance = random.Random(0)
    boxes = [random_box(400, 400, chance) for _ in range(2000)]
    wide = sum(right - left > bottom - top for left, top, right, bottom in boxes)
    assert 930 <= wide <= 1070


@pytest.mark.parametrize(
    ("size", "box"), [((1000, 10), (493, 0, 506, 10)), ((10, 1000), (0, 493, 10, 506))]
)
def test_an_image_too_long_for_any_box_is_cut_in_the_centre(size, box):
    assert random_box(*size, random.Random(0)) == box


def test_a_training_crop_depends_on_its_seed_alone():
    image = gradient(300, 200)
    first, again, other = (training_crop(image, seed) for seed in ("0-1-2", "0-1-2", "0-1-3"))
    assert first.shape == (3, 224, 224)
    assert first.dtype == torch.uint8
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


def test_half_of_the_training_crops_are_mirrored():
    image = gradient(64, 64)
    mirrored = 0
    for seed in range(200):
        crop = training_crop(image, str(seed))
        mirrored += int(crop[0, 0, 0] > crop[0, 0, -1])
        assert crop[1, 0, 0] < crop[1, -1, 0]  # never upside down
    assert 80 <= mirrored <= 120


def test_an_evaluation_crop_is_the_centre_of_the_image_scaled_to_256():
    crop = evaluation_crop(gradient(512, 256))
    assert crop.shape == (3, 224, 224)
    left, right = crop[0, 0, 0].item(), crop[0, 0, -1].item()
    top, bottom = crop[1, 0, 0].item(), crop[1, -1, 0].item()
    assert (left, right) == (71, 183)  # columns 144 and 367 of 512
    assert (top, bottom) == (16, 239)  # rows 16 and 239 of 256


@pytest.mark.parametrize("size", [(256, 256), (224, 300), (3, 2), (1000, 257)])
def test_an_evaluation_crop_has_one_size_whatever_the_image_has(size: tuple[int, int]):
    assert evaluation_crop(gradient(*size)).shape == (3, 224, 224)


def test_images_of_other_modes_are_decoded_as_rgb(tmp_path: Path):
    for name, mode in (("a.JPEG", "L"), ("b.JPEG", "CMYK"), ("c.png", "RGBA")):
        Image.new(mode, (8, 8)).save(tmp_path / name)
        assert decode(tmp_path / name).mode == "RGB"


@pytest.mark.parametrize("keep", [0, 10, 400])
def test_a_broken_image_is_named(tmp_path: Path, keep: int):
    path = tmp_path / "n01_1.JPEG"
    gradient(64, 64).save(path)
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(RunError, match=r"n01_1.JPEG is not a readable image"):
        decode(path)
