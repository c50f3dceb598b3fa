from pathlib import Path

from rebatch.errors import RunError
from rebatch.recipes import case, find, override
from rebatch.recipes._run import run
from rebatch.records import RunFolder, read_json, read_lines

SETTINGS = ["epochs=4", "cyclical_batch_size=256", "baseline_batch_size=256", "log_every=2"]


def train(out: Path, **more) -> dict:
    made = case(override(find("digits"), SETTINGS), "CBS-1-2")
    return run(made, seed=0, out=out, device="cpu", overrides=SETTINGS, **more)


def without_clock(records) -> list[dict]:
    return [{name: line[name] for name in line if name != "seconds"} for line in records]


def complaint(out: Path) -> str | None:
    """What a run says that writes checkpoints all the time, if it fails."""
    try:
        train(out, checkpoint_every=0.0)
    except RunError as error:
        return str(error)
    return None


def test_a_disk_that_fills_up_at_any_moment_loses_nothing(small_disk, tmp_path):
    train(tmp_path / "whole")
    whole = RunFolder(tmp_path / "whole")
    filler, failures = small_disk / "filler", 0
    for room in (0, 20_000, 60_000, 100_000, 140_000, 180_000, 220_000):
        out = small_disk / f"run-{room}"
        filler.write_bytes(bytes(2**20 - room - 12_288))
        said = complaint(out)
        failures += said is not None
        assert said is None or said.endswith("could not be written: No space left on device")
        assert not list(out.rglob(".*.draft"))
        kept = without_clock(read_lines(out / "metrics.jsonl"))
        assert kept == without_clock(read_lines(whole.metrics))[: len(kept)]
        filler.unlink()
        train(out, resume=True)
        for path in whole.path.rglob("*.safetensors"):
            assert path.read_bytes() == (out / path.relative_to(whole.path)).read_bytes()
        assert without_clock(read_lines(out / "metrics.jsonl")) == (
            without_clock(read_lines(whole.metrics))
        )
        assert read_json(out / "run.json")["status"] == "finished"
        for path in out.rglob("*"):
            if path.is_file():
                path.unlink()
    assert failures >= 5
    print(f"\na full disk: {failures} failures of one line each, as many exact resumes")
