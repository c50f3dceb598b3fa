"""Records of adaptive runs, in the form the engine writes them."""

from pathlib import Path

import pytest

from rebatch.records import LineLog, write_json

BAD = "</script><script>window.broken = 1</script><img src=x onerror='window.broken = 1'> *b* `c`"
SIZES = (10, 10, 20, 40, 10, 20)
UPDATES = (100, 200, 250, 275, 375, 425)
WHY = "noise scale 84 is above 2 x 40: doubling is free"


def decisions(reason: str):
    """Decisions after epochs 2, 3 and 4, and one after the first that changes nothing."""
    for epoch, ends, gauges in (
        (0, False, {"noise_scale": 15.0}),
        (1, False, {"noise_scale": 84.0, "train_loss": 2.25}),
        (2, False, {}),
        (3, True, {"annealed_loss": 1.5}),
    ):
        yield {
            "kind": "decision",
            "epoch": epoch,
            "update": UPDATES[epoch],
            "batch_size": SIZES[epoch],
            "next_batch_size": SIZES[epoch + 1],
            "epochs": 1,
            "ends_cycle": ends,
            "rate_factor": 1.0,
            "reason": reason,
            "gauges": gauges,
        }


def write_adaptive_run(root: Path, seed: int = 0, reason: str = WHY) -> None:
    folder = root / "digits" / "AUTO" / f"seed{seed}"
    identity = {"recipe": "digits", "schedule": "AUTO", "seed": seed}
    final = {"test_accuracy": 95.0 + seed, "train_loss": 0.5}
    write_json(folder / "run.json", {})
    write_json(folder / "result.json", {**identity, "updates": 425 + seed, "final": final})
    decided = {line["epoch"]: line for line in decisions(reason)}
    with LineLog(folder / "metrics.jsonl") as log:
        for epoch, (size, update) in enumerate(zip(SIZES, UPDATES, strict=True)):
            place = {"epoch": epoch, "update": update, "cycle": epoch // 4, "batch_size": size}
            figures = {"train_loss": 3.0 - epoch / 4, "test_accuracy": 90.0 + epoch}
            log.write({"kind": "epoch", **place, **figures})
            if epoch in decided:
                log.write(decided[epoch])


LONG = "AUTO(base=16, largest=1048576, " + ", ".join(f"field_{n}=0.123456" for n in range(9)) + ")"
CHANGES = [f"learning_rate_{n}=piecewise(0.1,80:0.01,120:0.001)" for n in range(5)]
UNBROKEN = "word" * 30


def write_extreme_run(root: Path, recipe: str, schedule: str, overrides: list[str], seed: int):
    """Write a run whose every name, figure and reason is as long as they get."""
    folder = root / recipe / schedule[:8] / str(len(overrides)) / f"seed{seed}"
    identity = {"recipe": recipe, "schedule": schedule, "seed": seed, "overrides": overrides}
    figures = {"test_perplexity": 8e6 + 1e6 * seed, "train_perplexity": 9e6 + 1e6 * seed}
    cost = {"updates": 123_456_789, "seconds": 987_654.0, "device": f"device {seed} {UNBROKEN}"}
    ensemble = {"members": ["a", "b"], **figures}
    parts = {"final": figures, "best": figures, "best_on_test": figures, "ensemble": ensemble}
    write_json(folder / "run.json", {"engine": f"graphs {UNBROKEN}"})
    write_json(folder / "result.json", {**identity, **cost, **parts})
    gauges = {f"gauge_number_{n}": 123456.789 for n in range(9)}
    with LineLog(folder / "metrics.jsonl") as log:
        for epoch in range(9):
            size, update = 1024 * 2 ** (epoch % 4), 12_345_678 * (epoch + 1)
            place = {"epoch": epoch, "update": update, "batch_size": size}
            log.write({"kind": "epoch", "cycle": epoch // 4, **place, **figures})
            if schedule == LONG:
                then = {"next_batch_size": 2 * size, "rate_factor": 1 / 3, "ends_cycle": True}
                reason = f"{WHY} {UNBROKEN} " * 2
                log.write({"kind": "decision", **place, **then, "reason": reason, "gauges": gauges})


@pytest.fixture(scope="session")
def extreme(tmp_path_factory) -> Path:
    """Runs whose names, figures, reasons and errors are as long as they get."""
    root = tmp_path_factory.mktemp("extreme")
    for recipe in ("l1-ptb", f"mine-{UNBROKEN}"):
        for seed in range(3):
            for schedule in ("BL", "CBS-10", LONG):
                write_extreme_run(root, recipe, schedule, [], seed)
            write_extreme_run(root, recipe, "BL", CHANGES, seed)
    failed = {"recipe": UNBROKEN, "schedule": "BL", "seed": 0, "overrides": CHANGES}
    write_json(root / "bad" / "run.json", {**failed, "status": "failed", "error": UNBROKEN * 9})
    return root


@pytest.fixture
def adaptive(tmp_path) -> Path:
    """Two seeds of a schedule that decided as it went."""
    for seed in (0, 1):
        write_adaptive_run(tmp_path / "runs", seed)
    return tmp_path / "runs"


@pytest.fixture
def hostile(tmp_path) -> Path:
    """A run whose reasons try to be markup."""
    write_adaptive_run(tmp_path / "hostile", 0, BAD)
    return tmp_path / "hostile"
