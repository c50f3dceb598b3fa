"""Decode an image and cut it to 224 x 224, by chance for training, in the centre to evaluate."""

import math
import random
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from rebatch.errors import RunError

if TYPE_CHECKING:
    from PIL.Image import Image

SIZE, RESIZED = 224, 256
AREA, ASPECT = (0.08, 1.0), (3 / 4, 4 / 3)
Box = tuple[int, int, int, int]


def decode(path: Path) -> "Image":
    """Read an image file as RGB."""
    from PIL import Image

    try:
        with Image.open(path) as image:
            return image.convert("RGB")
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise RunError(f"{path} is not a readable image: {error}") from error


def training_crop(image: "Image", seed: str) -> Tensor:
    """Cut a part of random area and aspect ratio, and mirror it every second time."""
    from PIL.Image import Transpose

    chance = random.Random(seed)  # a string seeds the same on every platform
    cut = _resized(image, (SIZE, SIZE), random_box(*image.size, chance))
    return _tensor(cut.transpose(Transpose.FLIP_LEFT_RIGHT) if chance.random() < 0.5 else cut)


def evaluation_crop(image: "Image") -> Tensor:
    """Scale the shorter side to 256 and cut the centre."""
    scale = RESIZED / min(image.size)
    width, height = (max(RESIZED, int(side * scale)) for side in image.size)
    left, top = round((width - SIZE) / 2), round((height - SIZE) / 2)
    scaled = _resized(image, (width, height), (0, 0, *image.size))
    return _tensor(scaled.crop((left, top, left + SIZE, top + SIZE)))


def random_box(width: int, height: int, chance: random.Random) -> Box:
    """Draw 8 to 100 % of the area at an aspect ratio of 3/4 to 4/3 (uniform in its logarithm).

    After ten boxes that do not fit: the largest central one of an allowed ratio.
    """
    for _ in range(10):
        area = width * height * chance.uniform(*AREA)
        aspect = math.exp(chance.uniform(*map(math.log, ASPECT)))
        wide, high = round(math.sqrt(area * aspect)), round(math.sqrt(area / aspect))
        if 0 < wide <= width and 0 < high <= height:
            left, top = chance.randint(0, width - wide), chance.randint(0, height - high)
            return left, top, left + wide, top + high
    wide, high = min(width, round(height * ASPECT[1])), min(height, round(width / ASPECT[0]))
    left, top = (width - wide) // 2, (height - high) // 2
    return left, top, left + wide, top + high


def _resized(image: "Image", size: tuple[int, int], box: Box) -> "Image":
    from PIL.Image import Resampling

    return image.resize(size, Resampling.BILINEAR, box=box)


def _tensor(image: "Image") -> Tensor:
    """Give uint8 ``[3, height, width]``: a quarter of the bytes of floats on their way to a GPU."""
    return torch.from_numpy(np.array(image)).permute(2, 0, 1).contiguous()
