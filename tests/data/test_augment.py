import pytest
import torch
from torch.nn.functional import pad

import rebatch
from rebatch.data import Normalize, crop_and_flip

IMAGE = torch.arange(9).view(1, 1, 3, 3)


def augmented(images, draws, **options):
    augment = crop_and_flip(**options)
    return augment(images, augment.prepare(torch.tensor(draws), images))


def changed(image, *draw, **options):
    return augmented(image, [draw], **options).squeeze().tolist()


def test_the_middle_is_the_image_itself():
    images = torch.randn(2, 3, 32, 32)
    middle = [[4, 4, 0], [4, 4, 0]]
    assert torch.equal(augmented(images, middle), images)
    assert torch.equal(augmented(images, middle, mode="zero"), images)


def test_the_top_left_corner_with_zeros():
    assert changed(IMAGE, 0, 0, 0, padding=1, mode="zero") == [[0, 0, 0], [0, 0, 1], [0, 3, 4]]


def test_the_bottom_right_corner_with_zeros():
    assert changed(IMAGE, 2, 2, 0, padding=1, mode="zero") == [[4, 5, 0], [7, 8, 0], [0, 0, 0]]


def test_the_top_left_corner_by_reflection():
    assert changed(IMAGE, 0, 0, 0, padding=1) == [[4, 3, 4], [1, 0, 1], [4, 3, 4]]


def test_the_bottom_right_corner_by_reflection():
    assert changed(IMAGE, 2, 2, 0, padding=1) == [[4, 5, 4], [7, 8, 7], [4, 5, 4]]


def test_a_mirrored_image_is_read_from_right_to_left():
    assert changed(IMAGE, 1, 1, 1, padding=1) == [[2, 1, 0], [5, 4, 3], [8, 7, 6]]


def test_mirroring_comes_after_cropping():
    assert changed(IMAGE, 1, 0, 1, padding=1, mode="zero") == [[1, 0, 0], [4, 3, 0], [7, 6, 0]]


@pytest.mark.parametrize("mode", ["reflect", "zero"])
@pytest.mark.parametrize("draw", [(0, 0), (8, 8), (0, 8), (3, 5)])
def test_a_crop_equals_one_cut_from_torchs_padding(mode, draw):
    images = torch.rand(1, 3, 32, 32)
    wide = pad(images, (4, 4, 4, 4), mode="reflect" if mode == "reflect" else "constant")
    top, left = draw
    got = augmented(images, [[top, left, 0]], mode=mode)
    assert torch.equal(got, wide[:, :, top : top + 32, left : left + 32])


def test_every_image_of_a_batch_goes_its_own_way():
    images = torch.stack((IMAGE[0], IMAGE[0] + 10))
    got = augmented(images, [[1, 1, 1], [2, 2, 0]], padding=1)
    assert got[0, 0].tolist() == [[2, 1, 0], [5, 4, 3], [8, 7, 6]]
    assert got[1, 0].tolist() == [[14, 15, 14], [17, 18, 17], [14, 15, 14]]


def test_channels_move_together_and_images_need_not_be_square():
    image = torch.stack((torch.arange(8).view(2, 4), torch.arange(8, 16).view(2, 4)))[None]
    got = augmented(image, [[0, 2, 0]], padding=1, mode="zero")
    assert got[0].tolist() == [[[0, 0, 0, 0], [1, 2, 3, 0]], [[0, 0, 0, 0], [9, 10, 11, 0]]]


def test_bytes_stay_bytes():
    image = torch.full((1, 3, 8, 8), 255, dtype=torch.uint8)
    got = augmented(image, [[0, 4, 0]], mode="zero")
    assert got.dtype == torch.uint8
    assert got[0, 0, :, 0].tolist() == [0, 0, 0, 0, 255, 255, 255, 255]


def test_draws_reach_every_corner_and_mirror_half_of_the_images():
    draws = crop_and_flip(padding=4).draw(9_000, torch.Generator().manual_seed(0))
    assert draws.amin(0).tolist() == [0, 0, 0]
    assert draws.amax(0).tolist() == [8, 8, 1]
    assert 4_300 < draws[:, 2].sum() < 4_700


def test_padding_as_large_as_the_image_is_refused():
    with pytest.raises(rebatch.InputError, match="padding must be smaller than the images, 3 x 3"):
        changed(IMAGE, 0, 0, 0, padding=3)


def test_another_mode_is_refused():
    with pytest.raises(rebatch.InputError, match="mode must be one of reflect, zero, got 'edge'"):
        crop_and_flip(mode="edge")


def test_bytes_are_normalised_by_channel():
    images = torch.tensor([0, 255], dtype=torch.uint8).view(1, 2, 1, 1)
    got = Normalize(mean=(0.5, 0.25), std=(0.25, 0.5))(images)
    assert got.flatten().tolist() == [-2.0, 1.5]


def test_floats_are_taken_as_0_to_1():
    images = torch.tensor([0.5, 1.0]).view(1, 1, 1, 2)
    assert Normalize(mean=(0.5,), std=(0.5,))(images).flatten().tolist() == [0.0, 1.0]


def test_normalisation_adds_nothing_to_the_weights_of_a_model():
    assert Normalize(mean=(0.5,), std=(0.5,)).state_dict() == {}


def test_a_spread_of_0_is_refused():
    with pytest.raises(rebatch.InputError, match="std must be above 0"):
        Normalize(mean=(0.5,), std=(0.0,))
