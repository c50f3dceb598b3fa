"""What AUTO makes of the readings of runs that were really trained, under other schedules."""

import json
from pathlib import Path

import pytest

from rebatch import auto, parse, plan
from rebatch.policies import Outlook, Seen

RESULTS = Path(__file__).parent.parent.parent / "results"
PTB = {"tokens": 929_589, "bptt": 35}
CIFAR = {"examples": 50_000}


def readings(run):
    lines = (RESULTS / run / "seed0" / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    return [line for line in map(json.loads, lines) if line["kind"] == "epoch"]


def decide(policy, recorded, data):
    """Follow a policy as if every epoch gave what the recorded run had measured in it."""

    def updates_of(size):
        return plan(parse("BL", size), epochs=1, **data).updates

    seen, decision, cycle, done = [], None, 0, 0
    while done < len(recorded):
        outlook = Outlook(len(recorded), done, updates_of, 5000)
        decision = policy.next(seen, outlook) if seen else policy.first(outlook)
        cycle += decision.ends_cycle
        last = recorded[done + decision.epochs - 1]
        updates = decision.epochs * updates_of(decision.batch_size)
        place = decision.batch_size, done, decision.epochs, updates, cycle, 0
        noise, figure = last["gradient_noise_scale"], last.get("valid_perplexity")
        seen.append(Seen(*place, last["train_loss"], noise, None, figure))
        done += decision.epochs
    return seen


@pytest.mark.parametrize(
    ("run", "base", "data", "sizes", "updates"),
    [
        ("l1-ptb/CBS-10", 10, PTB, [(10, 10), (20, 9), (40, 5), (80, 15)], 46_812),
        (
            *("c1-cifar10/CBS-5-3", 128, CIFAR),
            [
                *((128, 14), (256, 6), (512, 7), (1024, 19)),
                *((128, 11), (256, 11), (512, 6), (1024, 16)),
            ],
            16_096,
        ),
        (
            *("c1-cifar10/CBS-10-3", 128, CIFAR),
            [
                *((128, 15), (256, 15), (512, 21)),
                *((128, 10), (256, 10), (512, 6), (1024, 13)),
            ],
            17_958,
        ),
    ],
)
def test_recorded_readings_give_cycles_like_the_papers(stairs, run, base, data, sizes, updates):
    """CBS-10 takes 49,468 updates on Penn Treebank, CBS-10-3 20,550 on CIFAR-10."""
    seen = decide(auto(base), readings(run), data)
    assert stairs(seen) == sizes
    assert sum(row.updates for row in seen) == updates
