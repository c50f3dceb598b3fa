"""Files that nobody has reason to trust; archives are in tests/data/sets/test_archive.py."""

import ast
import io
import os
import pickle
import sys
from pathlib import Path

import pytest
import torch

import rebatch
from rebatch.cli import main
from rebatch.engine.seal import seal
from rebatch.records import RunFolder, read_json, write_bytes, write_json
from rebatch.report import results_page

PACKAGE = Path(rebatch.__file__).parent
HTML = "<script>alert(1)</script>\"'&"
RUN = ["train", "digits", "--schedule", "CBS-1-2", "--set", "epochs=2", "--device", "cpu"]


class Bomb:
    """Makes a folder when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> Path:
    torch.set_num_threads(1)
    out = tmp_path_factory.mktemp("finished") / "run"
    assert main([*RUN, "--out", str(out)]) == 0
    return out


@pytest.fixture
def copied(finished, tmp_path) -> Path:
    """A finished run, as if it had stopped just before its result."""
    out = tmp_path / "run"
    for path in finished.rglob("*"):
        if path.is_file() and path.name != "result.json":
            write_bytes(out / path.relative_to(finished), path.read_bytes())
    return out


@pytest.mark.parametrize("form", ["zip", "sealed", "pickle", "legacy"])
def test_code_in_a_checkpoint_is_refused_in_one_line_and_not_run(copied, tmp_path, capsys, form):
    buffer = io.BytesIO()
    bomb = {"format": 1, "model": Bomb(tmp_path / "boom")}
    torch.save(bomb, buffer, _use_new_zipfile_serialization=form != "legacy")
    plain = pickle.dumps(bomb)
    harm = {"sealed": seal(buffer.getvalue()), "pickle": plain}.get(form, buffer.getvalue())
    (copied / "checkpoint.pt").write_bytes(harm)
    assert main([*RUN, "--out", str(copied), "--resume"]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert "checkpoint.pt is not a whole checkpoint: " in line
    assert not (tmp_path / "boom").exists()
    assert (copied / "checkpoint.pt").read_bytes() == harm


@pytest.mark.parametrize(
    "harm",
    [
        b"",
        b"PK\x03\x04",
        b"\xff" * 7 + b"\x7f{}",
        b"\x02\0\0\0\0\0\0\0[]",
        b'\x12\0\0\0\0\0\0\0{"__metadata__":1} ',
    ],
)
def test_a_snapshot_that_is_none_is_refused_in_one_line(finished, tmp_path, capsys, harm):
    out = tmp_path / "run"
    for path in finished.rglob("*"):
        if path.is_file():
            write_bytes(out / path.relative_to(finished), path.read_bytes())
    (out / "snapshots" / "cycle-000.safetensors").write_bytes(harm)
    assert main(["ensemble", str(out), "--device", "cpu"]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert "cycle-000.safetensors does not hold a snapshot of this model: " in line


def test_a_pickle_named_like_a_snapshot_is_not_run(finished, tmp_path, capsys):
    out = tmp_path / "run"
    write_json(out / "run.json", read_json(finished / "run.json"))
    write_bytes(out / "snapshots" / "cycle-000.safetensors", pickle.dumps(Bomb(tmp_path / "boom")))
    assert main(["ensemble", str(out), "--device", "cpu"]) == 1
    assert not (tmp_path / "boom").exists()


def test_a_flipped_bit_in_a_snapshot_is_noticed(finished, tmp_path, capsys):
    out = tmp_path / "run"
    write_json(out / "run.json", read_json(finished / "run.json"))
    whole = (finished / "snapshots" / "cycle-000.safetensors").read_bytes()
    flipped = whole[:-100] + bytes([whole[-100] ^ 1]) + whole[-99:]
    write_bytes(out / "snapshots" / "cycle-000.safetensors", flipped)
    assert main(["ensemble", str(out), "--device", "cpu"]) == 1
    assert "its checksum differs" in capsys.readouterr().err


def test_names_with_html_are_escaped_in_reports(finished, tmp_path):
    for seed, name in enumerate(
        ("recipe", "schedule", "variant", "overrides", "final", "ensemble")
    ):
        folder = RunFolder(tmp_path / "runs" / f"{name}-{seed}")
        result = read_json(finished / "result.json")
        value = {
            "overrides": [HTML],
            "final": {f"test_accuracy{HTML}": 1.0},
            "ensemble": {HTML: 1.0, "members": [HTML]},
        }
        write_json(folder.result, {**result, name: value.get(name, HTML)})
        write_json(folder.run, read_json(finished / "run.json"))
        write_bytes(folder.metrics, (finished / "metrics.jsonl").read_bytes())
    page = results_page(tmp_path / "runs", title=HTML)
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page


def test_kept_records_stay_in_their_folder_whatever_a_run_calls_itself(finished, tmp_path):
    sys.path.insert(0, str(PACKAGE.parent.parent / "tools"))
    try:
        from keep_results import keep
    finally:
        sys.path.pop(0)
    results = tmp_path / "deep" / "results"
    for evil in ("../../evil", "/evil", "..", "a/../../../evil", HTML, "a\0b", "x" * 300):
        for name in ("recipe", "schedule", "variant", "seed", "overrides"):
            folder = RunFolder(tmp_path / "run")
            described = read_json(finished / "run.json")
            write_json(folder.run, {**described, name: [evil] if name == "overrides" else evil})
            write_json(folder.result, read_json(finished / "result.json"))
            write_bytes(folder.metrics, b"")
            kept = keep(folder, results)
            assert kept.resolve().is_relative_to(results.resolve())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["deep", "run"]


def test_every_torch_load_of_the_package_is_of_weights_only():
    found = 0
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "torch.load":
                found += 1
                settings = {word.arg: ast.unparse(word.value) for word in node.keywords}
                assert settings.get("weights_only") == "True", f"{path}, line {node.lineno}"
    assert found >= 1


def test_nothing_else_in_the_package_reads_pickles():
    # The ranks of a run tell each other values in memory, as torch.distributed itself does.
    allowed = {"data/sets/pickles.py", "engine/ranks.py"}
    for path in PACKAGE.rglob("*.py"):
        text = path.read_text()
        unsafe = ("pickle.load", "marshal.load", "shelve.open", "allow_pickle=True", "yaml.load")
        if path.relative_to(PACKAGE).as_posix() not in allowed:
            assert not any(word in text for word in unsafe), path
