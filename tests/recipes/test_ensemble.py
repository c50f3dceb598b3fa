import math

import pytest

from rebatch.errors import InputError, RunError
from rebatch.recipes._ensemble import ensemble
from rebatch.records import write_json


@pytest.fixture
def folder(train, tmp_path):
    """A run with three snapshots."""
    train("l1-ptb", "CBS-1-2", "epochs=6")
    return tmp_path / "run"


def test_each_snapshot_and_all_together_are_evaluated(folder, data_root):
    figures = ensemble(folder, device="cpu", data_root=data_root)
    assert list(figures["each"]) == ["cycle-000", "cycle-001", "cycle-002"]
    alone = [values["test_perplexity"] for values in figures["each"].values()]
    assert figures["together"]["test_perplexity"] <= math.exp(sum(map(math.log, alone)) / 3)


def test_it_agrees_with_what_the_run_found_itself(train, data_root, tmp_path):
    result = train("c3-cifar10", "CBS-1-2", "epochs=4", variant="whole-batch-norm")
    figures = ensemble(tmp_path / "run", device="cpu", data_root=data_root)
    members = result["ensemble"].pop("members")
    assert members == list(figures["each"])
    assert figures["together"] == result["ensemble"]


def test_the_last_ones_may_be_asked_for(folder, data_root):
    figures = ensemble(folder, last=2, device="cpu", data_root=data_root)
    assert list(figures["each"]) == ["cycle-001", "cycle-002"]


def test_more_than_there_are_cannot_be_asked_for(folder, data_root):
    with pytest.raises(InputError, match="last must be at most 3, as many as there are, got 4"):
        ensemble(folder, last=4, device="cpu", data_root=data_root)


def test_statistics_of_batch_norm_may_be_taken_anew(train, data_root, tmp_path):
    train("c3-cifar10", "CBS-1-2", "epochs=2")
    plain, anew = (
        ensemble(tmp_path / "run", device="cpu", data_root=data_root, reestimated=choice)
        for choice in (False, True)
    )
    assert plain["together"]["test_loss"] != anew["together"]["test_loss"]


def test_a_run_without_snapshots_is_refused(train, data_root, tmp_path):
    train("c4-cifar10", "BL", "epochs=1")
    with pytest.raises(InputError, match=r"^run must have snapshots, got none in "):
        ensemble(tmp_path / "run", device="cpu", data_root=data_root)


def test_a_folder_that_is_no_run_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"^folder must hold a run, got .* without run\.json$"):
        ensemble(tmp_path)
    write_json(tmp_path / "run.json", {"schedule": "BL"})
    with pytest.raises(RunError, match=r"run\.json is not the record of a run: .* 'settings'$"):
        ensemble(tmp_path)


def test_a_torn_snapshot_is_named(folder, data_root):
    path = folder / "snapshots" / "cycle-001.safetensors"
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(RunError, match=r"cycle-001\.safetensors does not hold a snapshot of this"):
        ensemble(folder, device="cpu", data_root=data_root)
