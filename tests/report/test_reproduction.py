import re
from pathlib import Path

from rebatch.records import LineLog, write_json
from rebatch.report import reproduction

EVIL = "</td><script>x</script> | [a](javascript:b) `c` *d*"


def write_run(root: Path, name: str = "run", *, decide: str = "", **values) -> None:
    result = {
        "recipe": "l1-ptb",
        "schedule": "BL",
        "seed": 0,
        "variant": None,
        "overrides": [],
        "updates": 51_792,
        "seconds": 425.0,
        "device": "NVIDIA H200",
        "final": {"test_perplexity": 81.0},
        "ensemble": None,
        **values,
    }
    write_json(root / name / "run.json", {})
    write_json(root / name / "result.json", result)
    with LineLog(root / name / "metrics.jsonl") as log:
        place = {"epoch": 0, "update": 40, "cycle": 0, "batch_size": 10}
        log.write({"kind": "epoch", **place})
        if decide:
            sizes = {"update": 40, "batch_size": 10, "next_batch_size": 20}
            told = {"reason": decide, "gauges": {"noise_scale": 84.0}}
            log.write({"kind": "decision", "epoch": 0, **sizes, **told})


def test_a_table_of_the_paper_has_a_part_for_each_of_its_columns(tmp_path):
    write_run(tmp_path)
    text = reproduction(tmp_path)
    assert "\n## Language models (test perplexity)\n\n### `l1-ptb`\n\n| schedule | ours |" in text
    row = "| BL | 81.00 | 83.13 | **−2.13** | one seed | 51,792 | 52,000 |  | 7.1 min |"
    assert row in text.splitlines()
    assert "\n- base-batch: is it the cycle, or only its smaller batch?" in text
    assert "Devices: NVIDIA H200." in text


def test_the_cycle_that_never_ends_is_said(tmp_path):
    write_run(tmp_path)
    assert "whose cycle of 40 epochs never ends within the 39 epochs" in reproduction(tmp_path)


def test_runs_in_no_table_stand_apart(tmp_path):
    write_run(tmp_path, recipe="e1-sick", schedule="AUTO")
    last = reproduction(tmp_path).split("## Runs beside the paper's cells")[1]
    assert (
        "| `e1-sick` | AUTO | 81.00 (test perplexity) | – | one seed | 51,792 | 7.1 min |" in last
    )


def test_decisions_are_a_table_of_their_own(tmp_path):
    write_run(tmp_path, schedule="AUTO", decide="noise scale 84 is above 2 x 40")
    last = reproduction(tmp_path).split("## Decisions of adaptive runs")[1]
    reason = "noise scale 84 is above 2 x 40"
    row = f"| AUTO, seed 0 | 1 | 40 | 10 → 20 | {reason} | noise scale 84 |"
    assert row in last.splitlines()


def test_nothing_from_a_record_is_markup(tmp_path):
    write_run(tmp_path, recipe=EVIL, schedule="BL", decide=EVIL, device=EVIL)
    text = reproduction(tmp_path)
    outside_code = re.sub(r"(?<!\\)`[^`]*`", "", text)
    assert "<" not in text
    assert "[a](" not in outside_code
    assert " `c" not in outside_code
    assert " *d" not in outside_code
    rows = [line for line in text.splitlines() if line.startswith("| ") and "javascript" in line]
    assert len(rows) == 2
    assert [row.replace("\\|", "").count("|") for row in rows] == [8, 7]
