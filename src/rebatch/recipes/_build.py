"""From a case to a job: data, model, optimiser and task, ready to train."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from rebatch import Plan, models
from rebatch._starts import STARTS_OF_TEXT, parse_start
from rebatch.data import Normalize, crop_and_flip
from rebatch.data.sets import ImageFolders, Images, Pairs, TextCorpus, data_root, find, load
from rebatch.data.sets.check import miscounts
from rebatch.data.sets.imagenet import MEAN, STD
from rebatch.engine.adversarial import Adversarial
from rebatch.engine.folders import FolderTask
from rebatch.engine.images import ImageTask
from rebatch.engine.initialize import initialize
from rebatch.engine.language import LanguageTask
from rebatch.engine.learner import Learner
from rebatch.engine.pairs import PairTask
from rebatch.engine.precision import choose_engine, set_precision
from rebatch.engine.ranks import ALONE, Ranks
from rebatch.engine.snapshots import snapshot_epochs, snapshot_updates
from rebatch.engine.task import Task
from rebatch.errors import InputError
from rebatch.kernels import can_fuse
from rebatch.recipes._case import Case
from rebatch.recipes._recipe import Recipe

CIFAR = {
    "cifar10": ((0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616)),
    "cifar100": ((0.5071, 0.4865, 0.4409), (0.2673, 0.2564, 0.2762)),
}
"""Mean and standard deviation of each channel over all training pixels."""


@dataclass(frozen=True)
class Built:
    """A case with everything it needs in memory."""

    learner: Learner
    plan: Plan
    snapshots: dict[int, int]


def build(
    case: Case,
    *,
    seed: int,
    device: torch.device,
    data_root: Path | None,
    data: Any = None,
    ranks: Ranks = ALONE,
    engine: str = "auto",
) -> Built:
    """Load the data, plan on what is there, and put a fresh model on the device.

    ``data`` is used instead of the recipe's data set where it is given; ``engine`` is how updates
    are made.
    """
    recipe = case.recipe
    data = load_data(recipe, data_root, seed, ranks) if data is None else data
    plan = case.plan(_amount(recipe, data))
    torch.manual_seed(seed)
    norm = _norm_batch_size(recipe, case)
    model = build_model(recipe, data, norm, data_root, seed)
    group = (norm or plan.sizes[-1]) if models.has_batch_norm(model) else 1
    task = _task(recipe, data, plan, seed=seed, device=device, ranks=ranks, group=group)
    if isinstance(task, ImageTask | FolderTask):
        # In fp32, as weights start whatever they are trained in.
        sample = task.sample().float() if recipe.initialization == "lsuv" else None
        initialize(model, recipe.initialization, sample=sample)
    model.to(device)
    if recipe.precision == "fp64":
        model.double()
    # Convolutions are faster with channels last, and pass the layout of their weights on.
    model.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    precision = _precision(recipe, device)
    set_precision(precision, device)
    engine = choose_engine(engine, device, ranks.size)
    if (engine, precision) == ("graphs", "bf16"):
        models.fuse(model, partial(can_fuse, device))
    learner = Learner(
        model,
        _optimizer(recipe, model, device),
        task,
        device,
        precision=precision,
        clip=recipe.clip,
        micro_batch_size=_micro(recipe, group),
        group=group,
        ranks=ranks,
        engine=engine,
    )
    return Built(learner, plan, snapshots_of(recipe, plan))


def load_data(recipe: Recipe, root: Path | None, seed: int, ranks: Ranks = ALONE) -> Any:
    """Load the recipe's data set, and say where it is not all of it."""
    data = _loaded(recipe, root, seed)
    known = find(recipe.data)
    layout = known.layout(data_root(root)) or known.layouts[0]
    problems = "; ".join(miscounts(layout.counts, data.counts))
    if problems and ranks.is_first:
        advice = f"see rebatch data check {known.name}"
        logging.getLogger("rebatch").warning(f"{known.name}: {problems}: {advice}")
    return data


def _loaded(recipe: Recipe, root: Path | None, seed: int) -> Any:
    """Load of pairs the splits that the recipe uses, and draw crops from the seed."""
    if recipe.model == "E1":
        splits = (recipe.train_split, *(split for _, split in recipe.held_out))
        return load(recipe.data, root, splits=tuple(dict.fromkeys(splits)))
    if recipe.data == "imagenet":
        return load("imagenet", root, seed=seed)
    return load(recipe.data, root)


def build_model(
    recipe: Recipe, data: Any, norm: int | None, root: Path | None, seed: int
) -> nn.Module:
    """Return the network of the recipe; `build` may start one of images anew."""
    code = recipe.model.rstrip("'")
    if code in ("L1", "L2"):
        _, uniform = parse_start(recipe.initialization, STARTS_OF_TEXT)
        return models.LanguageModel(
            len(data.vocabulary), recipe.hidden, dropout=recipe.dropout, uniform=uniform
        )
    if code == "E1":
        vectors = load("glove", root)
        uncased = "6B" in vectors.path.name
        matrix = vectors.matrix(data.vocabulary, seed=seed, uncased=uncased)
        return models.ESIM(matrix, form=recipe.form, hidden=recipe.hidden, dropout=recipe.dropout)
    classes = data.num_classes
    if code == "demo":
        return models.DigitNet(classes, hidden=recipe.hidden)
    if code == "C3":
        return models.CifarResNet(classes, shortcut=recipe.shortcut, norm_batch_size=norm)
    networks: dict[str, Callable[..., nn.Module]] = {
        "C1": models.alexnet_like,
        "C2": models.WideResNet,
        "C4": models.MLP3,
        "I1": models.ResNet50,
    }
    return networks[code](classes, norm_batch_size=norm)


def _amount(recipe: Recipe, data: Any) -> dict[str, Any]:
    if isinstance(data, TextCorpus):
        return {"tokens": len(data.train), "bptt": recipe.bptt}
    if isinstance(data, Pairs):
        count = len(data[recipe.train_split])
    elif isinstance(data, Images):
        count = len(data.train_labels)
    else:
        count = len(data.train)
    if recipe.holdout >= count:
        raise InputError(f"holdout must leave training images, got {recipe.holdout} of {count}")
    return {"examples": count - recipe.holdout, "drop_last": recipe.drop_last}


def _task(
    recipe: Recipe,
    data: Any,
    plan: Plan,
    *,
    seed: int,
    device: torch.device,
    ranks: Ranks,
    group: int,
) -> Task:
    if isinstance(data, TextCorpus):
        held_out = {"valid": data.valid, "test": data.test}
        return LanguageTask(
            data.train, held_out, plan, device=device, bptt=recipe.bptt, ranks=ranks
        )
    if isinstance(data, Pairs):
        train = _pair_split(data, recipe.train_split)
        held = {name: _pair_split(data, split) for name, split in recipe.held_out}
        return PairTask(train, held, plan, seed=seed, device=device, ranks=ranks)
    dtype = torch.float64 if recipe.precision == "fp64" else torch.float32
    if isinstance(data, ImageFolders):
        return FolderTask(
            data.train,
            {"validation": data.valid},
            plan,
            seed=seed,
            device=device,
            normalize=Normalize(MEAN, STD),
            dtype=dtype,
            ranks=ranks,
            group=group,
        )
    images, held_images = _image_splits(recipe, data)
    return ImageTask(
        images,
        held_images,
        plan,
        seed=seed,
        device=device,
        peak=data.peak,
        normalize=_normalize(recipe),
        augment=_augment(recipe),
        adversarial=_adversarial(recipe),
        squared_error=recipe.loss == "squared-error",
        dtype=dtype,
        ranks=ranks,
        epochs=recipe.epochs,
    )


def _image_splits(
    recipe: Recipe, data: Images
) -> tuple[tuple[Tensor, Tensor], dict[str, tuple[Tensor, Tensor]]]:
    """Return training images, and the held-out ones with a validation part first if asked for."""
    images, labels = data.train_images, data.train_labels
    test = (data.test_images, data.test_labels)
    if not recipe.holdout:
        return (images, labels), {"test": test}
    order = torch.randperm(len(labels), generator=torch.Generator().manual_seed(0))
    kept, apart = order[recipe.holdout :].sort().values, order[: recipe.holdout]
    held_out = {"validation": (images[apart], labels[apart]), "test": test}
    return (images[kept], labels[kept]), held_out


def _pair_split(data: Pairs, split: str) -> tuple[Tensor, Tensor, Tensor]:
    pairs = data[split]
    return pairs.premises, pairs.hypotheses, pairs.labels


def _normalize(recipe: Recipe) -> nn.Module | None:
    """C4 standardises every image itself, and the digits are kept as they are."""
    return Normalize(*CIFAR[recipe.data]) if recipe.model in ("C1", "C2", "C3") else None


def _augment(recipe: Recipe) -> crop_and_flip | None:
    if recipe.augment == "none":
        return None
    return crop_and_flip(padding=4, mode="zero" if recipe.augment == "zero" else "reflect")


def _adversarial(recipe: Recipe) -> Adversarial | None:
    if not recipe.adversarial_share:
        return None
    return Adversarial(
        share=recipe.adversarial_share,
        epsilon=recipe.adversarial_epsilon,
        window=recipe.adversarial_window,
    )


def _norm_batch_size(recipe: Recipe, case: Case) -> int | None:
    if recipe.norm_batch_size is None:
        return case.base
    return recipe.norm_batch_size or None


def _micro(recipe: Recipe, group: int) -> int | None:
    size = recipe.micro_batch_size
    if size is not None and size % group:
        raise InputError(
            f"micro_batch_size must be a multiple of {group}, the group of batch norm, got {size}"
        )
    return size


def _precision(recipe: Recipe, device: torch.device) -> str:
    """Choose what is fastest without a cost in quality."""
    if recipe.precision != "auto":
        return recipe.precision
    return "bf16" if device.type == "cuda" else "fp32"


def _optimizer(recipe: Recipe, model: nn.Module, device: torch.device) -> torch.optim.Optimizer:
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    fused = device.type == "cuda"
    if recipe.optimizer == "adam":
        decay = recipe.weight_decay
        return torch.optim.Adam(trained, 1.0, weight_decay=decay, fused=fused, capturable=fused)
    return torch.optim.SGD(
        trained,
        lr=1.0,
        momentum=recipe.momentum,
        nesterov=recipe.nesterov,
        weight_decay=recipe.weight_decay,
        fused=fused,
    )


def snapshots_of(recipe: Recipe, plan: Plan) -> dict[int, int]:
    """Return the snapshots of a plan, as far as it goes."""
    if recipe.snapshot_epochs:
        ahead = plan.epochs < recipe.epochs
        reached = [epoch for epoch in recipe.snapshot_epochs if epoch <= plan.epochs or not ahead]
        return snapshot_epochs(plan, tuple(reached))
    return snapshot_updates(plan, recipe.snapshot_at)
