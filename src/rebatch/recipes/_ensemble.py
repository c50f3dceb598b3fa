"""The snapshots of a finished run, rebuilt from its folder."""

from pathlib import Path
from typing import Any

from rebatch.engine.ensemble import evaluate_snapshots
from rebatch.engine.precision import autocast, choose_device
from rebatch.engine.snapshots import list_snapshots
from rebatch.errors import InputError, RunError
from rebatch.recipes._build import build
from rebatch.recipes._case import case
from rebatch.recipes._recipe import Recipe
from rebatch.records import RunFolder, read_json


def ensemble(
    path: Path,
    *,
    last: int | None = None,
    reestimated: bool = False,
    device: str = "auto",
    data_root: Path | None = None,
) -> dict[str, Any]:
    """Evaluate each snapshot of a run and all of them together."""
    folder = RunFolder(path)
    if not folder.run.exists():
        raise InputError(f"folder must hold a run, got {path} without run.json")
    described = read_json(folder.run)
    try:
        made = case(
            Recipe.from_dict(described["settings"]), described["schedule"], described["variant"]
        )
        seed = described["seed"]
    except KeyError as error:
        raise RunError(f"{folder.run} is not the record of a run: it has no {error}") from None
    paths = list_snapshots(folder.snapshots, last=last)
    if not paths:
        raise InputError(f"run must have snapshots, got none in {folder.snapshots}")
    built = build(made, seed=seed, device=choose_device(device), data_root=data_root)
    learner = built.learner
    context = autocast(learner.precision, learner.device)

    def figures(chosen: list[Path]) -> dict[str, Any]:
        found = evaluate_snapshots(
            learner.model, learner.task, chosen, context, reestimated=reestimated
        )
        return {name: value for name, value in found.items() if name != "members"}

    each = {one.stem: figures([one]) for one in paths}
    return {"run": str(path), "each": each, "together": figures(paths)}
