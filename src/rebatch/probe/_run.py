"""A whole probe: warm-up, branches, verdict, and its folder.

``probe.json`` says what is probed, ``branches.jsonl`` has a line for every finished branch,
``result.json`` says what came out, and ``warm-up`` keeps the checkpoint that the branches left.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rebatch.engine.holding import hold
from rebatch.engine.precision import choose_device
from rebatch.errors import InputError, RunError, shown
from rebatch.probe._branch import Follow, Lab, run_branch, warm_up
from rebatch.probe._design import Design
from rebatch.probe._verdict import Record, Verdict, judge
from rebatch.recipes._build import load_data
from rebatch.recipes._run import versions
from rebatch.records import (
    FINISHED,
    INTERRUPTED,
    RUNNING,
    LineLog,
    read_json,
    read_lines,
    write_json,
)


@contextmanager
def laboratory(
    design: Design,
    *,
    out: Path | None = None,
    device: str = "auto",
    data_root: Path | None = None,
    resume: bool = False,
) -> Iterator[Lab]:
    """Load the data and hold the folder: ``out``, or one that is gone afterwards."""
    chosen = choose_device(device)
    with TemporaryDirectory() as scratch:
        folder = out or Path(scratch)
        with hold(folder):
            _check(folder, design, resume=resume)
            data = load_data(design.recipe, data_root, design.seed)
            yield Lab(design, chosen, folder, data, data_root)


def run_probe(lab: Lab, follow: Follow, *, times: float = 2.0) -> Verdict:
    """Train what is not yet trained, and judge all of it; ``times`` the spread is no loss."""
    about = {**lab.design.describe(), **versions(lab.device)}
    path = lab.folder / "probe.json"
    write_json(path, {**about, "status": RUNNING})
    try:
        verdict = judge(lab.design, _records(lab, follow), times)
        write_json(lab.folder / "result.json", verdict.to_dict())
    except BaseException:
        with suppress(RunError):  # where the disk is full, what failed first is worth more
            write_json(path, {**about, "status": INTERRUPTED})
        raise
    write_json(path, {**about, "status": FINISHED})
    return verdict


def _records(lab: Lab, follow: Follow) -> list[Record]:
    """Return the records of all branches, of which those of an earlier call are kept."""
    path = lab.folder / "branches.jsonl"
    known: list[Record] = list(read_lines(path))
    done = {(record["batch_size"], record["repeat"]) for record in known}
    todo = [branch for branch in lab.design.branches if branch not in done]
    with LineLog(path) as log:
        for record in known:  # without a torn last line
            log.write(record)
        warm = warm_up(lab, follow) if todo else None
        for size, repeat in todo:
            assert warm is not None
            known.append(run_branch(lab, warm, size, repeat, follow))
            log.write(known[-1])
    return known


def _check(folder: Path, design: Design, *, resume: bool) -> None:
    """Refuse a folder that holds something else than this very probe."""
    known = folder / "probe.json"
    if not known.exists():
        if (folder / "run.json").exists():
            raise InputError(f"out must be a folder without a run, got {folder}")
        return
    if not resume:
        raise InputError(f"out must be a folder without a probe, or use --resume, got {folder}")
    found, wanted = read_json(known), json.loads(json.dumps(design.describe()))
    for name, value in wanted.items():
        if found.get(name) != value:
            raise InputError(
                f"out must hold the probe to resume: its {name} is {_brief(found.get(name))}, "
                f"got {_brief(value)}"
            )


def _brief(value: Any) -> str:
    return "another one" if isinstance(value, dict) else shown(value)
