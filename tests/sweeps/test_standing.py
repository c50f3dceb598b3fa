import shutil

import pytest

from rebatch.records import RunFolder
from rebatch.sweeps import Identity, standing
from rebatch.sweeps._standing import tail

RUN = Identity("digits", "CBS-1-2", 0, None, ("epochs=2",))


@pytest.fixture(scope="module")
def finished(train, tmp_path_factory):
    return train(RUN, tmp_path_factory.mktemp("finished"))


@pytest.fixture
def folder(finished, tmp_path) -> RunFolder:
    """A copy that a test may spoil."""
    return RunFolder(shutil.copytree(finished, tmp_path / "run"))


def test_a_folder_that_is_not_there_waits(tmp_path):
    found = standing(RUN, tmp_path / "none")
    assert (found.status, found.update, found.headline) == ("waiting", 0, "")


def test_a_finished_run_tells_its_updates_and_its_figure(finished):
    found = standing(RUN, finished)
    assert (found.status, found.epoch, found.update, found.left) == ("finished", 2, 135, 0.0)
    assert found.headline.startswith("test_accuracy ")


def test_a_run_under_way_tells_where_it_is(folder):
    folder.result.unlink()
    lines = folder.metrics.read_bytes().splitlines(keepends=True)
    folder.metrics.write_bytes(b"".join(lines[:3]))  # 50, 90 (the epoch), 100 updates
    folder.set_status("running")
    found = standing(RUN, folder.path)
    assert (found.status, found.epoch, found.update, found.batch_size) == ("running", 1, 100, 32)
    assert found.left == pytest.approx(found.seconds * (2874 - 1757) / 1757)


def test_a_torn_line_is_passed_over(folder):
    folder.metrics.write_bytes(folder.metrics.read_bytes() + b'{"kind": "upd')
    assert tail(folder.metrics)[-1]["update"] == 135


def test_a_run_killed_between_result_and_status_is_not_finished(folder):
    folder.set_status("running")
    assert standing(RUN, folder.path).status == "running"


def test_a_finished_run_with_a_checkpoint_left_is_not_finished(folder):
    folder.checkpoint.write_bytes(b"left by a kill")
    assert standing(RUN, folder.path).status == "running"


def test_a_failed_run_tells_its_error(folder):
    folder.result.unlink()
    folder.set_status("failed", error="memory does not suffice")
    found = standing(RUN, folder.path)
    assert (found.status, found.error) == ("failed", "memory does not suffice")


def test_a_run_that_failed_before_its_records_tells_what_the_sweep_kept(tmp_path):
    (tmp_path / "error.txt").write_text("data must hold x, got y\n")
    assert standing(RUN, tmp_path).error == "data must hold x, got y"
