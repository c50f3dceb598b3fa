import random
from pathlib import Path

import pytest

from rebatch.recipes import case, find, override
from rebatch.recipes._run import run
from rebatch.records import RunFolder, read_json, read_lines

SETTINGS = ["epochs=4", "cyclical_batch_size=256", "baseline_batch_size=256", "log_every=2"]


class Killed(BaseException):
    """Stands for a process that is gone without a word."""


def train(out: Path, *, seed: int = 0, stop: int | None = None, **more) -> dict:
    def follow(plan):
        def watch(progress, rate):
            if progress.update == stop:
                raise Killed

        return watch

    made = case(override(find("digits"), SETTINGS), "CBS-1-2")
    settings = {"device": "cpu", "overrides": SETTINGS, "checkpoint_every": 0.0, **more}
    return run(made, seed=seed, out=out, watch=follow, **settings)


def lines(folder: RunFolder) -> list[dict]:
    found = read_lines(folder.metrics)
    return [{name: line[name] for name in line if name != "seconds"} for line in found]


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> RunFolder:
    out = tmp_path_factory.mktemp("whole") / "run"
    train(out)
    return RunFolder(out)


@pytest.fixture(scope="module")
def foreign(tmp_path_factory) -> bytes:
    """The checkpoint of a run that differs in its seed alone."""
    out = tmp_path_factory.mktemp("foreign") / "run"
    with pytest.raises(Killed):
        train(out, seed=1, stop=9)
    return (out / "checkpoint.pt").read_bytes()


def harms(content: bytes, foreign: bytes, numbers: random.Random) -> list[bytes]:
    places = [numbers.randrange(len(content)) for _ in range(4)]
    flipped = [
        content[:place]
        + bytes([content[place] ^ (1 << numbers.randrange(8))])
        + content[place + 1 :]
        for place in places
    ]
    torn = [content[: numbers.randrange(len(content))] for _ in range(3)]
    return [*flipped, *torn, b"", content + b"\0", bytes(len(content)), foreign]


def test_a_damaged_newest_checkpoint_costs_one_update_and_no_record(
    tmp_path, whole, foreign, caplog
):
    numbers, count = random.Random(0), 0
    out = tmp_path / "run"
    with pytest.raises(Killed):
        train(out, stop=9)
    kept = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    for harm in harms(kept[out / "checkpoint.pt"], foreign, numbers):
        for path in list(out.rglob("*")):
            if path.is_file():
                path.unlink()
        for path, content in kept.items():
            path.write_bytes(content)
        (out / "checkpoint.pt").write_bytes(harm)
        caplog.clear()
        train(out, resume=True)
        (said,) = caplog.messages
        assert said.endswith("; going on from checkpoint-previous.pt, after update 7")
        note, *others = (line for line in lines(RunFolder(out)) if line["kind"] == "note")
        assert (note["note"], others) == (said, [])
        assert [line for line in lines(RunFolder(out)) if line != note] == lines(whole)
        for path in whole.path.rglob("*.safetensors"):
            assert path.read_bytes() == (out / path.relative_to(whole.path)).read_bytes()
        result, expected = (read_json(path / "result.json") for path in (out, whole.path))
        assert {**result, "seconds": 0} == {**expected, "seconds": 0}
        assert (out / "checkpoint-refused.pt").read_bytes() == harm
        count += 1
    print(f"\n{count} bad checkpoints refused, as many exact resumes from the one before")
