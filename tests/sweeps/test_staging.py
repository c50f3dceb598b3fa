import uuid
from pathlib import Path, PurePosixPath

import pytest

from rebatch.errors import InputError
from rebatch.sweeps import Identity, standing
from rebatch.sweeps._staging import Mirror, Stage

RUN = Identity("digits", "CBS-1-2", 0, None, ("epochs=2",))


@pytest.fixture(params=["memory", "file"])
def address(request, tmp_path) -> str:
    """A place in a store that nobody else uses."""
    name = uuid.uuid4().hex
    return f"memory://{name}/run" if request.param == "memory" else f"file://{tmp_path}/store/run"


def fill(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def contents(folder: Path) -> dict[str, str]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {path.relative_to(folder).as_posix(): path.read_text() for path in files}


def fetched(address: str, folder: Path) -> dict[str, str]:
    Stage(address, folder).fetch()
    return contents(folder)


def test_what_was_pushed_is_fetched(address, tmp_path):
    here = fill(tmp_path / "here", run_json="{}", metrics_jsonl="1\n", snapshots__a_bin="w")
    Stage(address, here).push()
    assert fetched(address, tmp_path / "there") == {
        "run.json": "{}",
        "metrics.jsonl": "1\n",
        "snapshots/a.bin": "w",
    }


def test_a_store_without_the_run_gives_an_empty_folder(address, tmp_path):
    assert fetched(address, tmp_path / "there") == {}


def test_only_what_changed_is_written_again(address, tmp_path):
    here = fill(tmp_path / "here", run_json="{}", metrics_jsonl="1\n")
    stage = Stage(address, here)
    stage.push()
    before = stage.store.modified(f"{stage.root}/run.json")
    fill(here, metrics_jsonl="1\n2\n")
    stage.push()
    assert stage.store.modified(f"{stage.root}/run.json") == before
    assert fetched(address, tmp_path / "there")["metrics.jsonl"] == "1\n2\n"


def test_locks_and_half_written_files_stay_here(address, tmp_path):
    here = fill(tmp_path / "here", run_json="{}")
    (here / ".lock").write_text("7")
    (here / ".result.json.x.draft").write_text("{")
    Stage(address, here).push()
    assert fetched(address, tmp_path / "there") == {"run.json": "{}"}


def test_a_checkpoint_is_taken_away_only_once_there_is_a_result(address, tmp_path):
    here = fill(tmp_path / "here", checkpoint_pt="c")
    stage = Stage(address, here)
    stage.push()
    (here / "checkpoint.pt").unlink()
    stage.push()
    assert fetched(address, tmp_path / "one") == {"checkpoint.pt": "c"}
    fill(here, result_json="{}")
    stage.push()
    assert fetched(address, tmp_path / "two") == {"result.json": "{}"}


def test_a_checkpoint_never_runs_ahead_of_its_log(tmp_path, monkeypatch):
    """The run writes a line and a checkpoint while the push is at work."""
    here = fill(tmp_path / "here", metrics_jsonl="1\n", checkpoint_pt="after 1")
    stage = Stage(f"memory://{uuid.uuid4().hex}/run", here)
    write = stage._write

    def busy(name: str, source: Path) -> None:
        write(name, source)
        if name == "metrics.jsonl":
            fill(here, metrics_jsonl="1\n2\n")
            (here / "new").write_text("after 2")
            (here / "new").replace(here / "checkpoint.pt")

    monkeypatch.setattr(stage, "_write", busy)
    stage.push()
    Stage(f"memory://{stage.root.strip('/')}", tmp_path / "there").fetch()
    found = contents(tmp_path / "there")
    assert (found["metrics.jsonl"], found["checkpoint.pt"]) == ("1\n", "after 1")


def test_a_run_goes_on_from_a_fetched_folder_as_if_nothing_had_happened(
    address, tmp_path, train, records
):
    def stop(record):
        if record["update"] == 100:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(RUN, tmp_path / "one", checkpoint_every=0.0, listeners=[stop])
    Stage(address, tmp_path / "one" / RUN.folder).push()
    stage = Stage(address, tmp_path / "two" / RUN.folder)
    stage.fetch()
    train(RUN, tmp_path / "two")
    stage.push()
    Stage(address, tmp_path / "three").fetch()
    train(RUN, tmp_path / "whole")
    assert records(tmp_path / "three") == records(tmp_path / "whole" / RUN.folder)


def test_a_mirror_shows_where_a_stored_run_stands(address, tmp_path, train):
    Stage(f"{address}/{RUN.folder}", train(RUN, tmp_path)).push()
    mirror = Mirror(address, tmp_path / "mirror", every=60.0)
    assert standing(RUN, mirror.path(RUN.folder)).status == "finished"
    assert not any(mirror.path(PurePosixPath("other")).iterdir())


def test_an_address_that_nobody_knows_is_wrong_input(tmp_path):
    with pytest.raises(InputError, match="out must be an address of fsspec, got nowhere://x"):
        Stage("nowhere://x", tmp_path)
