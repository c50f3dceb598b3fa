"""With a stand-in for NVIDIA's program, which needs a GPU: a script that notes how it is called."""

import pytest

from rebatch.sweeps._mps import has_mps, mps

SCRIPT = """#!/bin/sh
echo "called $* in $CUDA_MPS_PIPE_DIRECTORY" >> "$NOTES"
[ "$1" = "-d" ] && exit {start}
read said
echo "said $said" >> "$NOTES"
[ "$said" = "quit" ] || exit {listed}
"""


@pytest.fixture
def control(tmp_path, monkeypatch):
    """Put a control program in the path and return what it noted."""
    notes = tmp_path / "notes"
    monkeypatch.setenv("NOTES", str(notes))
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")

    def install(*, start: int = 0, listed: int = 1):
        program = tmp_path / "nvidia-cuda-mps-control"
        program.write_text(SCRIPT.format(start=start, listed=listed))
        program.chmod(0o755)
        return notes

    return install


def test_without_the_program_there_is_no_service(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert not has_mps()
    with mps(tmp_path / "mps") as extra:
        assert extra == {}


def test_the_service_is_started_and_stopped(control, tmp_path):
    notes, place = control(), tmp_path / "mps"
    assert has_mps()
    with mps(place) as extra:
        assert extra["CUDA_MPS_PIPE_DIRECTORY"] == str(place)
        assert notes.read_text().splitlines()[-1] == f"called -d in {place}"
    assert notes.read_text().splitlines()[-1] == "said quit"


def test_a_service_that_was_left_behind_is_used_and_stopped(control, tmp_path):
    notes = control(listed=0)
    with mps(tmp_path / "mps"):
        assert "called -d" not in notes.read_text()
    assert notes.read_text().splitlines()[-1] == "said quit"


def test_of_two_sweeps_at_once_the_last_one_stops_the_service(control, tmp_path):
    notes = control(listed=0)
    with mps(tmp_path / "mps"):
        with mps(tmp_path / "mps"):
            pass
        assert "said quit" not in notes.read_text()
    assert notes.read_text().splitlines().count("said quit") == 1


def test_runs_go_on_where_the_service_does_not_start(control, tmp_path):
    notes = control(start=1)
    with mps(tmp_path / "mps") as extra:
        assert extra == {}
    assert "quit" not in notes.read_text()


def test_the_service_is_stopped_when_the_sweep_fails(control, tmp_path):
    notes = control()
    with pytest.raises(KeyError), mps(tmp_path / "mps"):
        raise KeyError
    assert notes.read_text().splitlines()[-1] == "said quit"
