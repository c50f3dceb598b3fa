"""Keep the records of runs under results/: small, named by what the runs are.

    python tools/keep_results.py RUNS [RESULTS]

Takes run.json, result.json, the epochs and decisions of metrics.jsonl, and the plan.json of an
adaptive run, of every finished run below RUNS.  Figures are rounded to six digits; those of
plan.json are kept as they are, for it replays the run.  Weights stay where they are.
"""

import json
import sys
from pathlib import Path

from rebatch.records import RunFolder, find_runs, read_json, read_lines, write_bytes, write_json
from rebatch.sweeps import Identity

KINDS = ("epoch", "decision")


def keep(folder: RunFolder, results: Path) -> Path:
    """Copy one run's records and return their new folder."""
    described = read_json(folder.run)
    target = RunFolder(results / Identity.of(described).folder)
    write_json(target.run, described)
    write_json(target.result, rounded(read_json(folder.result)))
    if folder.plan.exists():
        write_json(target.plan, read_json(folder.plan))
    lines = (line for line in read_lines(folder.metrics) if line.get("kind") in KINDS)
    text = "".join(json.dumps(rounded(line)) + "\n" for line in lines)
    write_bytes(target.metrics, text.encode())
    return target.path


def rounded(value):
    """Return the value with every figure in it rounded to six digits."""
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, dict):
        return {name: rounded(item) for name, item in value.items()}
    return [rounded(item) for item in value] if isinstance(value, list) else value


if __name__ == "__main__":
    source, results = Path(sys.argv[1]), Path(sys.argv[2] if len(sys.argv) > 2 else "results")
    for run in find_runs(source):
        if run.result.exists():
            print(keep(run, results))
