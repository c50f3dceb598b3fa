import os
import subprocess
import sys
from pathlib import Path

import pytest

import rebatch
from rebatch.errors import RunError
from rebatch.report import write


def test_a_file_is_written_whole_and_nothing_is_left_beside_it(tmp_path):
    path = write(tmp_path / "a.html", "é <")
    assert path.read_bytes() == b"\xc3\xa9 <"
    assert os.listdir(tmp_path) == ["a.html"]


def test_an_older_file_is_replaced(tmp_path):
    (tmp_path / "a").write_text("old and longer")
    write(str(tmp_path / "a"), b"new")
    assert (tmp_path / "a").read_bytes() == b"new"


def test_a_folder_that_does_not_exist_is_one_line(tmp_path):
    with pytest.raises(RunError, match=r"gone/a could not be written: there is no folder .*gone$"):
        write(tmp_path / "gone" / "a", "x")


def test_a_folder_is_not_replaced_and_nothing_is_left_beside_it(tmp_path):
    (tmp_path / "a").mkdir()
    with pytest.raises(RunError, match="Is a directory"):
        write(tmp_path / "a", "x")
    assert os.listdir(tmp_path) == ["a"]


def test_half_a_surrogate_pair_does_not_stop_the_page(tmp_path):
    assert write(tmp_path / "a", "a\udc80b").read_bytes() == b"a?b"


def test_a_full_disk_leaves_the_old_file(tmp_path):
    (tmp_path / "a").write_text("old")
    code = (
        "import resource, signal, sys\n"
        "from rebatch.report import write\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        "write(sys.argv[1], 'x' * 5000)\n"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "a")]
    source = str(Path(rebatch.__file__).parents[1])
    done = subprocess.run(command, capture_output=True, text=True, env={"PYTHONPATH": source})
    assert "could not be written" in done.stderr
    assert (tmp_path / "a").read_text() == "old"
    assert os.listdir(tmp_path) == ["a"]
