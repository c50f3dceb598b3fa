"""The plain loops that a cell is measured against, by name.

``plain`` is fed in the ordinary way, ``plain_resident`` from tensors on the device; ``plain_bf16``
is channels-last and autocast to bf16.  A token stream is on the device in the ordinary way too.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import nn
from torch.utils.data import TensorDataset

from rebatch.bench.generated import large_images
from rebatch.bench.plain import Plain, PlainLanguage
from rebatch.bench.plain_data import (
    Augmented,
    columns,
    cut_pairs,
    from_workers,
    images_on_device,
    pairs_on_device,
    workers,
)
from rebatch.data import Normalize
from rebatch.data.sets import Images, Pairs
from rebatch.data.sets.imagenet import MEAN, STD
from rebatch.recipes import Recipe
from rebatch.recipes._build import CIFAR

Make = Callable[[], Plain]


def rivals(
    recipe: Recipe, data: Any, model: Callable[[], nn.Module], device: torch.device
) -> dict[str, Make]:
    """Return what makes each plain loop of a recipe, around a ``model`` of its own."""
    kind = recipe.model[0]
    if kind == "L":
        return {"plain": partial(_language, recipe, data, model, device)}
    if kind == "E":
        return _pairs(recipe, data, model, device)
    return (
        _folders(recipe, data, model, device)
        if kind == "I"
        else _images(recipe, data, model, device)
    )


def _language(
    recipe: Recipe, data: Any, model: Callable[[], nn.Module], device: torch.device
) -> Plain:
    batches = columns(data.train.to(device), recipe.baseline_batch_size, recipe.bptt)
    return PlainLanguage(model(), batches, recipe, device)


def _images(
    recipe: Recipe, data: Images, model: Callable[[], nn.Module], device: torch.device
) -> dict[str, Make]:
    look = Normalize(*CIFAR[recipe.data]) if recipe.model[0] == "C" else None
    size, mode = recipe.baseline_batch_size, recipe.augment

    def plain() -> Plain:
        held = TensorDataset(data.train_images, data.train_labels)
        augmented = Augmented(held, peak=data.peak, mode=mode, look=look)
        return Plain(model(), from_workers(augmented, size, device), recipe, device, warm=_drain())

    def resident() -> Plain:
        there = None if look is None else Normalize(*CIFAR[recipe.data]).to(device)
        images, labels = data.train_images.to(device), data.train_labels.to(device)
        batches = images_on_device(images, labels, size, peak=data.peak, mode=mode, look=there)
        return Plain(model(), batches, recipe, device)

    return {"plain": plain, "plain_resident": resident}


def _folders(
    recipe: Recipe, data: Any, model: Callable[[], nn.Module], device: torch.device
) -> dict[str, Make]:
    size = recipe.baseline_batch_size
    augmented = Augmented(data.train, peak=255, mode="none", look=Normalize(MEAN, STD))

    def plain(*, fast: bool) -> Plain:
        batches = from_workers(augmented, size, device)
        return Plain(model(), batches, recipe, device, warm=_drain(), fast=fast)

    def resident() -> Plain:
        held, look = large_images(), Normalize(MEAN, STD).to(device)
        images, labels = held.train_images.to(device), held.train_labels.to(device)
        batches = images_on_device(images, labels, size, peak=255, mode="none", look=look)
        return Plain(model(), batches, recipe, device, fast=True)

    made = {"plain": partial(plain, fast=False), "plain_bf16": partial(plain, fast=True)}
    return {**made, "plain_resident": resident}


def _pairs(
    recipe: Recipe, data: Pairs, model: Callable[[], nn.Module], device: torch.device
) -> dict[str, Make]:
    split, size = data["train"], recipe.baseline_batch_size
    tensors = (split.premises, split.hypotheses, split.labels)

    def plain() -> Plain:
        batches = from_workers(TensorDataset(*tensors), size, device, cut_pairs)
        return Plain(model(), batches, recipe, device, warm=_drain())

    def resident() -> Plain:
        return Plain(model(), pairs_on_device(tensors, size, device), recipe, device)

    return {"plain": plain, "plain_resident": resident}


def _drain() -> int:
    """Return the updates after which no batch is left that workers made before the turn."""
    return 2 * workers() + 2
