"""The figures of docs/choosing.md are those of the records it names."""

import re
from pathlib import Path

from rebatch.records import read_json, read_lines

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "choosing.md").read_text()
NOISE = re.compile(r"\| `([\w./-]+)` \| ([\d,]+) after the (\w+) epoch, ([\d,]+) (.+?) \|")
PLACES = {"first": 0, "second": 1, "seventh": 6, "tenth": 9}


def result(cell: str) -> dict:
    return read_json(ROOT / "results" / cell / "seed0" / "result.json")


def headline(figures: dict) -> str:
    name = next(name for name in ("test_perplexity", "test_accuracy") if name in figures)
    return f"{figures[name]:.2f}"


def test_noise_scales_are_those_of_the_records():
    rows = NOISE.findall(PAGE)
    assert len(rows) == 5
    for cell, early, place, late, when in rows:
        lines = read_lines(ROOT / "results" / cell / "seed0" / "metrics.jsonl")
        scales = [line["gradient_noise_scale"] for line in lines if line["kind"] == "epoch"]
        last = -1 if when == "at the end" else PLACES[when.split()[2]]
        assert (early, late) == (f"{scales[PLACES[place]]:,.0f}", f"{scales[last]:,.0f}"), cell


def test_ensembles_are_those_of_the_records():
    cells = ("c1-cifar10/CBS-5-3", "l1-ptb/CBS-1", "c4-cifar10/CBS-15")
    cells += ("e1-sick/CBS-1", "e1-snli-dev/CBS-1")
    for found in map(result, cells):
        pair = f"{headline(found['ensemble'])} against {headline(found['final'])}"
        assert pair in " ".join(PAGE.split())


def test_differences_follow_from_the_table():
    def change(one: str, other: str, of: str) -> float:
        return 100 * (1 - result(other)[of] / result(one)[of])

    pairs = ("l1-ptb/BL", "l1-ptb/CBS-10"), ("c1-cifar10/BL", "c1-cifar10/CBS-5-3")
    pairs += (("c4-cifar10/BL", "c4-cifar10/CBS-15"),)
    assert [round(change(*pair, "updates")) for pair in pairs] == [4, 42, 53]
    assert [round(change(*pair, "seconds")) for pair in pairs[1:]] == [18, 51]


def test_what_is_said_of_l1_epoch_by_epoch_is_in_the_records():
    def epoch(code: str, number: int) -> dict:
        lines = read_lines(ROOT / "results" / "l1-ptb" / code / "seed0" / "metrics.jsonl")
        return [line for line in lines if line["kind"] == "epoch"][number - 1]

    updates = {code: epoch(code, 10)["update"] for code in ("CBS-10", "CBS-5", "CBS-1", "BL")}
    assert list(updates.values()) == [26_560, 19_920, 13_944, 13_280]
    halfway, end = epoch("CBS-5", 20), epoch("CBS-5", 39)
    assert (halfway["update"], end["update"]) == (24_900, 49_468)
    assert round(halfway["test_perplexity"], 1) == 81.6
    assert round(halfway["test_perplexity"] - end["test_perplexity"], 1) == 0.3
    assert round(epoch("BL", 39)["test_perplexity"] - halfway["test_perplexity"], 1) == 1.3
    kinds = "train_loss", "test_perplexity", "gradient_norm"
    for number in range(1, 21):
        assert [epoch("CBS-5", number)[k] for k in kinds] == [
            epoch("CBS-5-T", number)[k] for k in kinds
        ]
