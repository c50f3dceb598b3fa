"""Small data sets in the official formats, all below one folder."""

import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from rebatch.recipes import Recipe, case, find, override
from rebatch.recipes._run import run

CLASSES = 10
WORDS = [f"w{number}" for number in range(20)]
SPLITS = {"train": 900, "valid": 240, "test": 300}


@pytest.fixture(autouse=True)
def _quiet() -> None:
    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def data_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write every data set of the recipes."""
    root = tmp_path_factory.mktemp("data")
    write_texts(root / "penn-treebank", "ptb.{}.txt")
    write_texts(root / "wikitext-2", "wiki.{}.tokens")
    write_cifar(root / "cifar-10-batches-py")
    write_imagenet(root / "imagenet")
    for split, count in (("train", 48), ("dev", 48), ("test", 24)):
        write_pairs(root / "snli_1.0" / f"snli_1.0_{split}.jsonl", count)
    for split, count in (("train", 48), ("dev_matched", 12), ("dev_mismatched", 12)):
        write_pairs(root / "multinli_1.0" / f"multinli_1.0_{split}.jsonl", count)
    for split, count in (("train", 48), ("trial", 12), ("test_annotated", 24)):
        write_sick(root / "sick" / f"SICK_{split}.txt", count)
    write_glove(root / "glove" / "glove.840B.300d.txt")
    return root


def write_texts(folder: Path, pattern: str) -> None:
    """Lines of nine words; half of all words are the same one."""
    folder.mkdir()
    draws = np.random.RandomState(0)
    for split, count in SPLITS.items():
        words = [WORDS[draws.randint(20)] if draws.rand() < 0.5 else "the" for _ in range(count)]
        lines = [" ".join(words[first : first + 9]) for first in range(0, count, 9)]
        (folder / pattern.format(split)).write_text("".join(f" {line} \n" for line in lines))


def write_cifar(folder: Path) -> None:
    """Four images a file, 24 in all; the brighter, the higher the label."""
    folder.mkdir()
    draws = np.random.RandomState(0)
    for name in (*(f"data_batch_{number}" for number in range(1, 6)), "test_batch"):
        labels = [int(label) for label in draws.randint(0, CLASSES, 4)]
        noise = draws.randint(0, 25, (4, 3072))
        images = (noise + 25 * np.array(labels)[:, None]).astype(np.uint8)
        stored = {b"data": images, b"labels": labels}
        (folder / name).write_bytes(pickle.dumps(stored, 4))


def write_imagenet(folder: Path) -> None:
    """Two classes, one dark and one bright, with one picture each."""
    for split in ("train", "val"):
        for label, wnid in enumerate(("n01", "n02")):
            (folder / split / wnid).mkdir(parents=True)
            picture = Image.fromarray(np.full((40, 40, 3), 60 + 120 * label, np.uint8))
            picture.save(folder / split / wnid / f"{wnid}_1.JPEG")


def write_pairs(path: Path, count: int) -> None:
    """The hypothesis repeats the premise, or says something else, or nothing."""
    path.parent.mkdir(exist_ok=True)
    records = [
        {
            "gold_label": ("entailment", "neutral", "contradiction")[number % 3],
            "sentence1": f"a man runs {WORDS[number % 20]}",
            "sentence2": ("he runs now", "a dog", "nobody is here")[number % 3],
        }
        for number in range(count)
    ]
    path.write_text("".join(json.dumps(record) + "\n" for record in records))


def write_sick(path: Path, count: int) -> None:
    path.parent.mkdir(exist_ok=True)
    lines = ["pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment"]
    for number in range(count):
        label = ("ENTAILMENT", "NEUTRAL", "CONTRADICTION")[number % 3]
        other = ("he runs now", "a dog", "nobody is here")[number % 3]
        lines.append(f"{number}\ta man runs {WORDS[number % 20]}\t{other}\t3.0\t{label}")
    path.write_text("\n".join(lines) + "\n")


def write_glove(path: Path) -> None:
    path.parent.mkdir()
    draws = np.random.RandomState(0)
    words = ["a", "man", "runs", "he", "now", "dog", "nobody", "is", "here"]
    rows = (" ".join([word, *(f"{value:.3f}" for value in draws.randn(8))]) for word in words)
    path.write_text("\n".join(rows) + "\n")


SMALL: dict[str, list[str]] = {
    "L": [
        *("hidden=8", "baseline_batch_size=4", "cyclical_batch_size=2", "log_every=5"),
        *("baseline_rate=4", "cyclical_rate=4"),
    ],
    "C": ["baseline_batch_size=4", "cyclical_batch_size=4", "log_every=3"],
    "C1": ["cyclical_rate=0.005", "baseline_rate=0.005"],
    "C2": ["cyclical_rate=0.01", "baseline_rate=0.01"],
    "C3": ["cyclical_rate=0.02", "baseline_rate=0.02"],
    "I": ["baseline_batch_size=1", "cyclical_batch_size=1", "log_every=1"],
    "E": [
        *("hidden=6", "cyclical_batch_size=6", "baseline_batch_size=6", "log_every=3"),
        *("cyclical_rate=0.01", "baseline_rate=0.01"),
    ],
    "demo": ["baseline_batch_size=128", "cyclical_batch_size=128", "log_every=5"],
}


def small(recipe: Recipe) -> list[str]:
    """Settings that make a recipe quick on the small data."""
    chosen = [SMALL[name] for name in SMALL if recipe.model.startswith(name)]
    return [setting for settings in chosen for setting in settings]


@pytest.fixture
def train(data_root: Path, tmp_path: Path) -> Callable[..., dict[str, Any]]:
    """Train a recipe on the small data and return its result."""

    def trained(
        name: str,
        code: str,
        *more: str,
        variant: str | None = None,
        out: Path | None = None,
        seed: int = 0,
        **settings: Any,
    ) -> dict[str, Any]:
        overrides = [*small(find(name)), *more]
        made = case(override(find(name), overrides), code, variant)
        settings = {"data_root": data_root, "device": "cpu", "overrides": overrides, **settings}
        return run(made, seed=seed, out=out or tmp_path / "run", **settings)

    return trained
