"""The snapshots of a finished run, rebuilt from its folder."""

from pathlib import Path
from typing import Any

from rebatch._course import Course
from rebatch.engine.ensemble import evaluate_snapshots
from rebatch.engine.precision import autocast, choose_device
from rebatch.engine.shortage import shortage_told
from rebatch.engine.snapshots import list_members
from rebatch.errors import InputError, RunError, positive_int, shown
from rebatch.recipes._build import build
from rebatch.recipes._case import REPLAY, Case, case, replay
from rebatch.recipes._recipe import Recipe
from rebatch.records import RunFolder, read_json


@shortage_told()
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
    made, seed = _case_of(folder)
    paths = list_members(folder.snapshots, last=last)
    if not paths:
        raise InputError(f"run must have snapshots, got none in {folder.snapshots}")
    if last is not None and last > len(paths):
        raise InputError(f"last must be at most {len(paths)}, as many as there are, got {last}")
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


def _case_of(folder: RunFolder) -> tuple[Case, int]:
    """Return what was run, and its seed, from the record of a run."""
    described = read_json(folder.run)
    kinds = {"settings": dict, "schedule": str, "variant": str | None, "seed": int}
    for name, kind in kinds.items():
        if name not in described:
            raise RunError(f"{folder.run} is not the record of a run: it has no {name!r}")
        if not isinstance(described[name], kind):
            found = shown(described[name])
            raise RunError(f"{folder.run} is not the record of a run: its {name} is {found}")
    recipe = Recipe.from_dict(described["settings"])
    seed = positive_int("seed", described["seed"], at_least=0)
    variant = described["variant"]
    if (variant or "").startswith(REPLAY):
        *_, control = variant.removeprefix(REPLAY).partition("-")
        course = Course.from_dict(read_json(folder.plan))
        return replay(recipe, course, control or None), seed
    return case(recipe, described["schedule"], variant), seed
