import json
from pathlib import Path

import pytest

from rebatch.errors import InputError
from rebatch.probe import design, expected_seconds, laboratory, run_probe
from rebatch.recipes import find, override


def unseen(label, plan):
    return lambda progress, rate: None


def probe(made, out: Path | None = None, **more):
    with laboratory(made, device="cpu", out=out, **more) as lab:
        return run_probe(lab, unseen).to_dict()


def test_a_probe_goes_on_after_an_interruption_as_if_there_had_been_none(small, tmp_path):
    made = small(largest=64)
    whole = probe(made, tmp_path / "probe")
    lines = (tmp_path / "probe" / "branches.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "probe" / "branches.jsonl").write_text("".join(lines[:1]) + lines[1][:20])
    assert probe(made, tmp_path / "probe", resume=True) == whole
    assert len((tmp_path / "probe" / "branches.jsonl").read_text().splitlines()) == len(lines) == 4


def test_the_folder_tells_what_was_probed_and_what_came_out(small, tmp_path):
    found = probe(small(largest=64), tmp_path)
    about = json.loads((tmp_path / "probe.json").read_text())
    assert (about["recipe"], about["base"], about["sizes"]) == ("digits", 32, [32, 64])
    assert about["status"] == "finished"
    assert json.loads((tmp_path / "result.json").read_text()) == json.loads(json.dumps(found))
    assert (tmp_path / "warm-up" / "checkpoint.pt").exists()


def test_a_probe_that_fails_says_that_it_did_not_finish(small, tmp_path):
    def follow(label, plan):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), laboratory(small(), out=tmp_path, device="cpu") as lab:
        run_probe(lab, follow)
    assert json.loads((tmp_path / "probe.json").read_text())["status"] == "interrupted"


def test_a_folder_of_something_else_is_refused(small, tmp_path):
    made = small(largest=64)
    probe(made, tmp_path / "a")
    with pytest.raises(InputError, match="or use --resume"):
        probe(made, tmp_path / "a")
    with pytest.raises(InputError, match="its seed is 0, got 1"):
        probe(small(largest=64, seed=1), tmp_path / "a", resume=True)
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "run.json").write_text("{}")
    with pytest.raises(InputError, match="out must be a folder without a run"):
        probe(made, tmp_path / "b")


def test_the_time_is_foretold(small):
    with laboratory(small(), device="cpu") as lab:
        assert 0.01 < expected_seconds(lab) < 60


def test_a_language_model_is_probed_on_validation_data(tmp_path):
    (tmp_path / "penn-treebank").mkdir()
    for split, count in (("train", 900), ("valid", 240), ("test", 300)):
        words = " ".join(f"w{number % 7}" for number in range(count))
        (tmp_path / "penn-treebank" / f"ptb.{split}.txt").write_text(f" {words} \n")
    settings = ["hidden=8", "cyclical_batch_size=2", "cyclical_rate=4"]
    recipe = override(find("l1-ptb"), settings)
    found = probe(design(recipe, warm_up=1, largest=4), data_root=tmp_path)
    assert [level["updates"] for level in found["levels"]] == [13, 7]
    assert list(found["levels"][0]["held_out"]) == ["valid_loss"]
    assert found["levels"][0]["losses"][0] != found["levels"][0]["losses"][1]  # dropout
