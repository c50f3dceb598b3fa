import errno
import json
import math
import os
import resource
from pathlib import Path

import pytest

from rebatch.errors import InputError, RunError
from rebatch.records import (
    LineLog,
    RunFolder,
    find_runs,
    folder_name,
    read_json,
    read_lines,
    write_bytes,
    write_json,
)


def test_a_file_is_written_whole_and_nothing_is_left_beside_it(tmp_path):
    path = tmp_path / "deep" / "er" / "run.json"
    write_json(path, {"a": 1, "b": (1, 2)})
    assert path.read_text() == '{\n "a": 1,\n "b": [\n  1,\n  2\n ]\n}\n'
    assert os.listdir(path.parent) == ["run.json"]
    assert path.stat().st_mode & 0o777 == 0o644


def test_a_write_that_fails_keeps_the_old_file_and_leaves_nothing(tmp_path):
    path = tmp_path / "run.json"
    write_json(path, {"a": 1})
    with pytest.raises(TypeError):
        write_json(path, {"a": object()})
    with pytest.raises(TypeError):
        write_bytes(path, "text")  # type: ignore[arg-type]
    assert read_json(path) == {"a": 1}
    assert os.listdir(tmp_path) == ["run.json"]


def test_a_place_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match=r"file/run\.json could not be written: "):
        write_json(tmp_path / "file" / "run.json", {})


def test_figures_that_are_not_finite_become_null(tmp_path):
    write_json(tmp_path / "a", {"x": math.nan, "y": [math.inf, 1.5], "z": {"w": -math.inf}})
    assert read_json(tmp_path / "a") == {"x": None, "y": [None, 1.5], "z": {"w": None}}


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("{", "is not readable as JSON"),
        ("[1]", "must hold a JSON object, got list"),
        ("[" * 100_000, "is not readable as JSON"),
    ],
)
def test_a_file_that_is_no_json_object_is_named(tmp_path, text, complaint):
    (tmp_path / "run.json").write_text(text)
    with pytest.raises(RunError, match=rf"run\.json {complaint}"):
        read_json(tmp_path / "run.json")


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(RunError, match=r"run\.json is missing"):
        read_json(tmp_path / "run.json")


def test_a_log_grows_by_lines_and_is_cut_back_to_a_known_length(tmp_path):
    path = tmp_path / "run" / "metrics.jsonl"
    with LineLog(path) as log:
        log.write({"update": 1})
        length = log.length
        log.write({"update": 2, "loss": math.nan})
    assert path.read_text() == '{"update": 1}\n{"update": 2, "loss": null}\n'
    with LineLog(path, keep=length) as log:
        log.write({"update": 3})
    assert [line["update"] for line in read_lines(path)] == [1, 3]


def test_a_log_that_lost_lines_is_not_gone_on_with(tmp_path):
    (tmp_path / "metrics.jsonl").write_text("{}\n")
    with pytest.raises(RunError, match=r"metrics\.jsonl must have at least 10 bytes.*, got 3"):
        LineLog(tmp_path / "metrics.jsonl", keep=10)


def test_torn_and_foreign_lines_are_passed_over(tmp_path):
    path = tmp_path / "metrics.jsonl"
    path.write_bytes(b'{"update": 1}\n[2]\n\xff\xfe\n{"update": 2}\n{"upda')
    assert list(read_lines(path)) == [{"update": 1}, {"update": 2}]
    assert list(read_lines(tmp_path / "none")) == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_is_said_in_one_line():
    with (
        LineLog(Path("/dev/full")) as log,
        pytest.raises(
            RunError, match=f"^/dev/full could not be written: {os.strerror(errno.ENOSPC)}"
        ),
    ):
        log.write({"update": 1})


def test_what_a_full_disk_took_of_a_line_goes(tmp_path):
    path, limits = tmp_path / "metrics.jsonl", resource.getrlimit(resource.RLIMIT_FSIZE)
    with LineLog(path) as log:
        log.write({"update": 1})
        resource.setrlimit(resource.RLIMIT_FSIZE, (50, limits[1]))
        try:
            with pytest.raises(RunError, match="could not be written"):
                log.write({"update": 2, "note": "x" * 100})
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        assert path.read_text() == '{"update": 1}\n'
        log.write({"update": 3})
    assert [line["update"] for line in read_lines(path)] == [1, 3]


def test_runs_are_found_at_any_depth_in_order_of_name(tmp_path):
    for name in ("b/seed1", "a", "b/seed0"):
        write_json(tmp_path / name / "run.json", {})
    found = [run.path.relative_to(tmp_path).as_posix() for run in find_runs(tmp_path)]
    assert found == ["a", "b/seed0", "b/seed1"]
    with pytest.raises(InputError, match=r"folder must exist and hold runs, got .*nowhere"):
        find_runs(tmp_path / "nowhere")


def test_a_status_is_changed_and_all_else_stays(tmp_path):
    folder = RunFolder(tmp_path)
    write_json(folder.run, {"recipe": "l1-ptb", "status": "running"})
    folder.set_status("failed", error="no power")
    assert json.loads(folder.run.read_text()) == {
        "recipe": "l1-ptb",
        "status": "failed",
        "error": "no power",
    }


def test_the_files_of_a_run_have_fixed_names(tmp_path):
    folder = RunFolder(tmp_path)
    files = (folder.run, folder.metrics, folder.result, folder.checkpoint, folder.snapshots)
    names = ["run.json", "metrics.jsonl", "result.json", "checkpoint.pt", "snapshots"]
    assert [file.relative_to(tmp_path).as_posix() for file in files] == names


@pytest.mark.parametrize("part", ["..", ".", "/etc", "a/../b", "a\0b", "\\", "é" * 300, "", " "])
def test_a_folder_name_is_one_harmless_part_of_a_path(part, tmp_path):
    name = folder_name(part)
    assert Path(name).name == name
    assert not name.startswith(".")
    (tmp_path / name).mkdir()
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_long_folder_names_stay_apart():
    assert folder_name("x" * 300) != folder_name("x" * 301)
    assert folder_name("CBS-5", "epochs=3") == "CBS-5--epochs-3"
