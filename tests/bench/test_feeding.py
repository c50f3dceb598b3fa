import json

import pytest

from rebatch.bench.feeding import Comparison
from rebatch.cli import Parser, bench
from rebatch.errors import RunError


def command(*words):
    parser = Parser()
    bench.register(parser.add_subparsers(parser_class=Parser))
    arguments = parser.parse_args(["bench", "feeding", *words])
    arguments.run(arguments)


def test_the_ratio_is_how_many_times_faster_we_are():
    assert Comparison("indices", "torch", "s", 0.5, 2.0, target=3).ratio == 4.0


def test_every_comparison_is_printed_with_its_ratio_and_written(tmp_path, capsys):
    command("--quick", "--json", str(tmp_path / "feeding.json"))
    printed = capsys.readouterr().out
    rows = json.loads((tmp_path / "feeding.json").read_text())["feeding"]
    assert [(row["against"], row["target"]) for row in rows] == [
        ("BatchSampler(RandomSampler)", 3),
        ("BatchSampler(RandomSampler)", 1),
        ("DataLoader(TensorDataset), 0 workers", 2),
        ("DataLoader(TensorDataset), 2 workers", 8),
    ]
    assert all(f"{row['ratio']:.1f}x" in printed for row in rows)
    assert "…" not in printed


def test_a_file_that_cannot_be_written_is_said_before_anything_is_measured(tmp_path):
    with pytest.raises(RunError, match=r"missing.* could not be written"):
        command("--quick", "--json", str(tmp_path / "missing" / "feeding.json"))
