import errno
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import rebatch
from rebatch.engine.holding import hold
from rebatch.errors import RunError

SOURCE = str(Path(rebatch.__file__).parent.parent)


def test_a_folder_is_held_by_one_at_a_time(tmp_path):
    folder = tmp_path / "run"
    with hold(folder):
        with pytest.raises(RunError, match=rf"run is in use by process {os.getpid()}$"):
            hold(folder).__enter__()
        (folder / "kept").touch()
    with hold(folder):
        pass
    assert os.listdir(folder) == ["kept"]


def test_nothing_stays_of_a_folder_that_was_only_held(tmp_path):
    with pytest.raises(ZeroDivisionError), hold(tmp_path / "deep" / "run"):
        raise ZeroDivisionError
    assert os.listdir(tmp_path) == []
    with hold(tmp_path):
        pass
    assert tmp_path.exists()


HOLDER = """
import sys, time
from pathlib import Path
from rebatch.engine.holding import hold
import os
with hold(Path(sys.argv[1])):
    worker = os.fork()
    if worker:
        print(worker, flush=True)
    time.sleep(60)
"""


def test_a_killed_process_lets_go_even_if_a_worker_of_it_lives(tmp_path):
    command = [sys.executable, "-c", HOLDER, str(tmp_path)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": SOURCE}
    ) as process:
        worker = int(process.stdout.readline())
        with pytest.raises(RunError, match=rf"is in use by process {process.pid}$"):
            hold(tmp_path).__enter__()
        process.send_signal(signal.SIGKILL)
        process.wait()
        os.kill(worker, 0)  # alive
        assert free_within(tmp_path, seconds=5)
        os.kill(worker, signal.SIGKILL)


def free_within(folder: Path, *, seconds: float) -> bool:
    """Tell whether a folder can be held soon: a new worker lets go when it first runs."""
    limit = time.monotonic() + seconds
    while time.monotonic() < limit:
        try:
            with hold(folder):
                return True
        except RunError:
            time.sleep(0.02)
    return False


def test_a_forked_child_that_ends_keeps_the_parents_hold(tmp_path):
    with hold(tmp_path):
        child = os.fork()
        if not child:
            os._exit(0)
        os.waitpid(child, 0)
        with pytest.raises(RunError, match="is in use"):
            hold(tmp_path).__enter__()


RACER = """
import sys
from pathlib import Path
from rebatch.engine.holding import hold
from rebatch.errors import RunError
root, held = Path(sys.argv[1]), 0
while held < 300:
    try:
        with hold(root / "deep" / "run"):
            inside = root / "inside"
            inside.open("x").close()  # fails if another one is inside too
            inside.unlink()
            held += 1
    except RunError as error:
        assert "is in use by" in str(error), error
"""


def test_processes_that_race_for_a_folder_are_never_in_it_together(tmp_path):
    command = [sys.executable, "-c", RACER, str(tmp_path)]
    racers = [
        subprocess.Popen(command, stderr=subprocess.PIPE, env={**os.environ, "PYTHONPATH": SOURCE})
        for _ in range(3)
    ]
    ended = [(racer.communicate(timeout=60)[1].decode(), racer.returncode) for racer in racers]
    assert ended == [("", 0)] * 3
    assert not (tmp_path / "inside").exists()


def test_a_folder_that_is_removed_while_it_is_made_is_made_again(tmp_path, monkeypatch):
    make, removed = Path.mkdir, [True]

    def mkdir(path, *args, **kwargs):
        if removed and removed.pop():
            raise FileExistsError(errno.EEXIST, "File exists")  # and then it is none
        make(path, *args, **kwargs)

    monkeypatch.setattr(Path, "mkdir", mkdir)
    with hold(tmp_path / "run"):
        assert not removed
        assert (tmp_path / "run").is_dir()


def test_a_folder_that_can_never_be_made_is_refused_instead_of_tried_for_ever(
    tmp_path, monkeypatch
):
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with pytest.raises(RunError, match=r"^run could not be written: No such file or directory$"):
        hold(Path("run")).__enter__()
