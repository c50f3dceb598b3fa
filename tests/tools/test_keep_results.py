import json
import subprocess
import sys
from pathlib import Path

import rebatch
from rebatch.records import LineLog, write_json

TOOL = Path(__file__).parents[2] / "tools" / "keep_results.py"
IDENTITY = {"recipe": "digits", "schedule": "AUTO", "seed": 2, "variant": None, "overrides": []}


def test_epochs_decisions_and_the_plan_of_a_run_are_kept_in_few_digits(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(Path(rebatch.__file__).parent.parent))
    run, kept = tmp_path / "runs" / "x", tmp_path / "results"
    write_json(run / "run.json", IDENTITY)
    write_json(run / "result.json", {**IDENTITY, "final": {"test_accuracy": 92.222222222}})
    write_json(run / "plan.json", {"rate_factors": [1.2345678901]})
    (run / "snapshots").mkdir()
    with LineLog(run / "metrics.jsonl") as log:
        for kind in ("updates", "epoch", "decision", "note"):
            log.write({"kind": kind, "gauges": {"noise_scale": 7.625554781890116}})
    unfinished = tmp_path / "runs" / "y"
    write_json(unfinished / "run.json", IDENTITY | {"seed": 3})
    subprocess.run([sys.executable, TOOL, tmp_path / "runs", kept], check=True, capture_output=True)
    (folder,) = (path.parent for path in kept.rglob("run.json"))
    assert folder == kept / "digits" / "AUTO" / "seed2"
    assert sorted(path.name for path in folder.iterdir()) == [
        *("metrics.jsonl", "plan.json", "result.json", "run.json")
    ]
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    assert [line["kind"] for line in lines] == ["epoch", "decision"]
    assert lines[1]["gauges"] == {"noise_scale": 7.62555}
    result = json.loads((folder / "result.json").read_text())
    assert result["final"] == {"test_accuracy": 92.2222}
    plan = json.loads((folder / "plan.json").read_text())
    assert plan == {"rate_factors": [1.2345678901]}
