"""Keep the records of runs under results/: small, named by what the runs are.

    python tools/keep_results.py RUNS [RESULTS]

Takes run.json, result.json and the epoch lines of metrics.jsonl of every finished run below RUNS;
figures are rounded to six digits.  Weights stay where they are.
"""

import json
import sys
from pathlib import Path

from rebatch.records import RunFolder, find_runs, read_json, read_lines, write_bytes, write_json
from rebatch.sweeps import Identity


def keep(folder: RunFolder, results: Path) -> Path:
    """Copy one run's records and return their new folder."""
    described = read_json(folder.run)
    target = RunFolder(results / Identity.of(described).folder)
    write_json(target.run, described)
    write_json(target.result, rounded(read_json(folder.result)))
    lines = (line for line in read_lines(folder.metrics) if line.get("kind") == "epoch")
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
