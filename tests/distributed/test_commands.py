"""The command line on several ranks: one writes and speaks, and wrong input is refused by all."""

import pytest

from rebatch.records import RunFolder, read_json, read_lines

FIGURES = ("final", "best_on_test", "ensemble")


@pytest.fixture(scope="module")
def launched(launch):
    return launch("commands.py", "finish:1", "finish:2", "differ:2", "taken:2")


@pytest.fixture(scope="module")
def root(launched):
    return launched[0]


@pytest.fixture(scope="module")
def found(launched):
    return launched[1]


def numbers(record):
    """What must not depend on the ranks; gradient noise is measured from other pieces."""
    left_out = ("seconds", "micro_batch_size", "gradient_noise_scale")
    return {
        name: pytest.approx(value, rel=1e-9) if isinstance(value, float) else value
        for name, value in record.items()
        if name not in left_out
    }


def test_two_ranks_write_the_records_of_one(found, root):
    one, two = RunFolder(root / "run-1"), RunFolder(root / "run-2")
    lines = [list(read_lines(folder.metrics)) for folder in (one, two)]
    assert [line["epoch"] for line in lines[0] if line["kind"] == "epoch"] == [0, 1]
    assert [numbers(line) for line in lines[0]] == [
        {name: line[name] for name in numbers(line)} for line in lines[1]
    ]
    results = [read_json(folder.result) for folder in (one, two)]
    for name in FIGURES:
        assert results[1][name] == numbers(results[0][name])
    assert [read_json(folder.run)["ranks"] for folder in (one, two)] == [1, 2]
    assert read_json(two.run)["status"] == "finished"
    names = [sorted(path.name for path in folder.path.rglob("*")) for folder in (one, two)]
    assert names[0] == names[1]


def test_one_rank_speaks_and_a_finished_run_is_not_made_again(found):
    (first, again), (silent, silent_too) = found["finish:2"]
    assert (first[0], first[2]) == (0, "")
    assert first[1].startswith("digits CBS-1-2 seed 0; test_accuracy ")
    assert again == first
    assert silent == silent_too == [0, "", ""]


def test_ranks_that_were_told_different_things_are_all_refused_in_one_line(found, root):
    complaints = {
        "schedule": "schedule must be the same on all ranks, got 'CBS-1-2' on rank 0 and 'CBS-1-3'",
        "seed": "seed must be the same on all ranks, got 0 on rank 0 and 1",
        "epochs": "overrides must be the same on all ranks, got ['epochs=2'] on rank 0 and "
        "['epochs=3']",
        "out": f"out must be the same on all ranks, got '{root}/e' on rank 0 and '{root}/d'",
        "rebatch": "rebatch must be the same on all ranks, got '9.9.9' on rank 0 and '0.0.1'",
    }
    for rank in found["differ:2"]:
        assert rank == {
            name: [2, "", f"rebatch: {complaint} on rank 1\n"]
            for name, complaint in complaints.items()
        }
    assert {path.name for path in root.iterdir()} == {"run-1", "run-2"}


def test_all_ranks_are_refused_where_the_folder_holds_a_run(found, root):
    complaint = f"out must be a folder without a run, or use --resume, got {root}/run-2"
    assert found["taken:2"] == [
        [2, "", f"rebatch: {complaint}\n"],
        [2, "", f"rebatch: {complaint} (on rank 0)\n"],
    ]
