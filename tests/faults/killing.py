"""Kill runs with SIGKILL at random moments, resume each, and compare it with the undisturbed one.

    python tests/faults/killing.py KILLS SEED FOLDER

Half of the kills come after a random time, half just before a random operation on a file (an
opening, renaming, removal, …).  With "plan" for KILLS there is one before every operation on the
plan.json of a run whose policy decides while it trains, SEED and all chance aside.  The last line
printed is a JSON object of counts.
"""

import json
import os
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from rebatch.errors import RunError
from rebatch.recipes import case, find, override
from rebatch.recipes._run import run
from rebatch.records import RunFolder, read_json, read_lines

OPERATIONS = {"open", "os.rename", "os.remove", "os.mkdir", "os.truncate", "os.chmod", "os.rmdir"}
DIGITS = ["epochs=6", "baseline_batch_size=256", "cyclical_batch_size=256", "log_every=2"]
TEXT = [
    *("epochs=4", "hidden=8", "cyclical_batch_size=2", "cyclical_rate=4", "log_every=3"),
    *("baseline_batch_size=2", "baseline_rate=4"),
]
KINDS = {
    "digits": ("digits", "CBS-1-2", [*DIGITS, "snapshot_at=step-end"]),
    "text": ("l1-ptb", "CBS-1-2", TEXT),
    "adaptive": ("digits", "AUTO(cycle=4)", DIGITS),
}


def trained(kind: str, out: Path, data: Path, *, resume: bool = False) -> None:
    name, code, overrides = KINDS[kind]
    made = case(override(find(name), overrides), code)
    settings: dict[str, Any] = {"data_root": data, "device": "cpu", "overrides": overrides}
    run(made, seed=0, out=out, resume=resume, checkpoint_every=0.0, **settings)


def forked(work: Callable[[], None]) -> int:
    """Do something in a child process and return its id."""
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        work()
        code = 0
    except BaseException as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
    finally:
        os._exit(code)


def ended(child: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def kill_before(operation: int, out: Path, name: str = "") -> None:
    """Kill this process just before an operation on a file below ``out``, of a certain name."""
    seen = Counter[str]()

    def hear(event: str, given: tuple[Any, ...]) -> None:
        path = str(given[0]) if event in OPERATIONS else ""
        if path.startswith(str(out)) and name in path:
            seen["operations"] += 1
            if seen["operations"] == operation:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hear)


def count_operations(kind: str, out: Path, data: Path) -> int:
    seen = Counter[str]()

    def hear(event: str, given: tuple[Any, ...]) -> None:
        if event in OPERATIONS and str(given[0]).startswith(str(out)):
            seen["operations"] += 1

    def work() -> None:
        sys.addaudithook(hear)
        trained(kind, out, data)
        (out.parent / f"{kind}.count").write_text(str(seen["operations"]))

    assert ended(forked(work)) == 0
    return int((out.parent / f"{kind}.count").read_text())


def records(out: Path) -> dict[str, Any]:
    """Everything in a run's folder, without its clock."""
    found: dict[str, Any] = {}
    for path in sorted(path for path in out.rglob("*") if path.is_file()):
        name = path.relative_to(out).as_posix()
        found[name] = path.read_bytes() if path.suffix == ".safetensors" else name
    folder = RunFolder(out)
    found["metrics.jsonl"] = [without_clock(line) for line in read_lines(folder.metrics)]
    for path in (folder.run, folder.result, folder.plan):
        if path.exists():
            found[path.name] = without_clock(read_json(path))
    return found


def without_clock(record: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in record.items() if name not in ("seconds", "started")}


def state(out: Path) -> str:
    """Where a kill came: seen from what lies there."""
    folder = RunFolder(out)
    if not folder.run.exists():
        return "before the records"
    if folder.result.exists():
        return "after the result"
    if any(out.rglob(".*.draft")):
        return "in the midst of writing a file"
    if folder.previous_checkpoint.exists() and not folder.checkpoint.exists():
        return "between the two renamings of a checkpoint"
    return "between writes" if folder.has_checkpoint else "before the first checkpoint"


def check_untorn(out: Path) -> None:
    """Every file under its own name must be whole at any moment."""
    folder = RunFolder(out)
    for path in (folder.run, folder.result, folder.plan):
        if path.exists():
            read_json(path)
    for path in out.rglob("checkpoint*.pt"):
        torch.load(path, weights_only=True)
    assert not folder.refused_checkpoint.exists(), "a torn checkpoint"


def killed_once(
    kind: str, out: Path, data: Path, numbers: random.Random, seconds: float, operations: int
) -> bool:
    """Start a run and kill it; tell whether it was still there to be killed."""
    if numbers.random() < 0.5:
        child = forked(lambda: trained(kind, out, data))
        time.sleep(numbers.uniform(0, seconds))
        os.kill(child, signal.SIGKILL)
    else:
        operation = numbers.randint(1, operations)

        def work() -> None:
            kill_before(operation, out)
            trained(kind, out, data)

        child = forked(work)
    return ended(child) == -signal.SIGKILL


def main(kills: int, seed: int, root: Path) -> dict[str, Any]:
    torch.set_num_threads(1)
    numbers, counts = random.Random(seed), Counter[str]()
    data = root / "data"
    write_text(data / "penn-treebank")
    whole, seconds, operations = {}, {}, {}
    for kind in KINDS:
        trained(kind, root / f"{kind}-first", data)  # imports what children would import again
        began = time.monotonic()
        assert ended(forked(lambda kind=kind: trained(kind, root / kind, data))) == 0  # type: ignore[misc]
        seconds[kind] = time.monotonic() - began
        whole[kind] = records(root / kind)
        operations[kind] = count_operations(kind, root / f"{kind}-counted", data)
    states, exact, number = Counter[str](), 0, 0
    while counts["kills"] < kills:
        kind, out = list(KINDS)[number % len(KINDS)], root / f"run-{number}"
        number += 1
        if not killed_once(kind, out, data, numbers, seconds[kind], operations[kind]):
            continue
        counts["kills"] += 1
        states[state(out)] += 1
        check_untorn(out)
        check_resume(kind, out, data, whole[kind])
        exact += 1
    return {"kills": counts["kills"], "exact resumes": exact, "struck": dict(states)}


def check_resume(kind: str, out: Path, data: Path, whole: dict[str, Any]) -> None:
    if ended(forked(lambda: trained(kind, out, data, resume=True))) != 0:
        raise RunError(f"{out} did not resume")
    if records(out) != whole:
        raise RunError(f"{out} differs from the undisturbed run")


def kill_at_decisions(root: Path) -> dict[str, Any]:
    """Kill before every operation on the plan of a run: each decision writes it anew."""
    torch.set_num_threads(1)
    kind, kills, states = "adaptive", 0, Counter[str]()
    trained(kind, root / "whole", root)
    whole = records(root / "whole")
    while True:
        out = root / f"run-{kills}"

        def work(number: int = kills + 1, out: Path = out) -> None:
            kill_before(number, out, "plan.json")
            trained(kind, out, root)

        if ended(forked(work)) != -signal.SIGKILL:
            return {"kills": kills, "exact resumes": kills, "struck": dict(states)}
        kills += 1
        states[f"plan of {decisions(out)} rows"] += 1
        check_untorn(out)
        check_resume(kind, out, root, whole)


def decisions(out: Path) -> int:
    plan = RunFolder(out).plan
    return len(read_json(plan)["decisions"]) if plan.exists() else 0


def write_text(folder: Path) -> None:
    folder.mkdir(parents=True)
    numbers = random.Random(0)
    for split, lines in (("train", 40), ("valid", 10), ("test", 10)):
        text = [
            " ".join(numbers.choice(["the", f"w{numbers.randrange(20)}"]) for _ in range(8))
            for _ in range(lines)
        ]
        (folder / f"ptb.{split}.txt").write_text("\n".join(text) + "\n")


if __name__ == "__main__":
    if sys.argv[1] == "plan":
        print(json.dumps(kill_at_decisions(Path(sys.argv[3]))))
    else:
        print(json.dumps(main(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]))))
