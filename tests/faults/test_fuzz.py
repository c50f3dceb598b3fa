"""Whatever texts and files hold, only InputError and RunError come of it.

Notation, calls of schedules, rates, pickles and archives are fuzzed beside their own tests.
"""

import contextlib
import copy
import json
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import rebatch
from rebatch import Plan, parse, plan
from rebatch.data.sets import load
from rebatch.errors import InputError, RunError
from rebatch.rates import parse_rate
from rebatch.recipes import case, find, override
from rebatch.recipes._ensemble import ensemble
from rebatch.recipes._recipe import Recipe
from rebatch.recipes._run import run
from rebatch.records import RunFolder, read_json, read_lines, write_bytes, write_json
from rebatch.report import results_page

documented = contextlib.suppress(InputError, RunError)
settled = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from([10**400, -1, 0, 2**63])
    | st.floats()
    | st.text(max_size=8)
)
JSON = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=5,
)


def paths(value: Any, before: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in a JSON value."""
    found = [before] if before else []
    if isinstance(value, dict | list):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, item in items:
            found += paths(item, (*before, key))
    return found


def harmed(draw: Any, value: Any) -> Any:
    """A JSON value with one or two places of it replaced or removed."""
    value = copy.deepcopy(value)
    for path in draw(st.lists(st.sampled_from(paths(value)), min_size=1, max_size=2)):
        with contextlib.suppress(LookupError, TypeError):
            inner = value
            for key in path[:-1]:
                inner = inner[key]
            if draw(st.booleans()):
                inner[path[-1]] = draw(JSON)
            else:
                del inner[path[-1]]
    return value


@given(
    text=st.text(alphabet="0123456789:KMBTkmb -.,", max_size=30),
    clock=st.sampled_from([None, "epochs", "updates", "samples", "tokens", "x"]),
)
def test_anything_like_thresholds(text, clock):
    with documented:
        parse(text, clock=clock)


@given(name=st.sampled_from(["", "step(", "cosine(", "warmup(", "constant("]), text=st.text())
def test_anything_like_a_rate(name, text):
    with documented:
        parse_rate(name + text)


PLAN = json.loads(plan(rebatch.cyclical(4, width=1, steps=2), epochs=3, examples=10).to_json())
TOKENS = json.loads(plan(rebatch.constant(4), epochs=2, tokens=90, bptt=5).to_json())


@given(data=st.data(), made=st.sampled_from([PLAN, TOKENS]))
def test_anything_like_a_plan(data, made):
    with documented:
        Plan.from_json(json.dumps(harmed(data.draw, made)))


@given(text=st.text() | JSON.map(json.dumps))
def test_any_text_as_a_plan(text):
    with documented:
        Plan.from_json(text)


FIELDS = sorted(Recipe.__dataclass_fields__)
VALUES = st.text(max_size=12) | SCALARS.map(repr) | JSON.map(repr)


@given(
    name=st.sampled_from(["digits", "l1-ptb", "c3-cifar10", "e1-snli"]),
    changes=st.lists(st.tuples(st.sampled_from(FIELDS), VALUES).map("=".join), max_size=2),
)
@example("digits", ["momentum=1" + "0" * 400])
def test_any_override_of_a_recipe(name, changes):
    with documented:
        made = override(find(name), changes)
        case(made, "CBS-1-2")


@given(data=st.data(), name=st.sampled_from(["digits", "l1-ptb", "e1-snli"]))
def test_anything_like_the_settings_of_a_run(data, name):
    written = json.loads(json.dumps(find(name).to_dict()))
    with documented:
        Recipe.from_dict(harmed(data.draw, written))


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> RunFolder:
    torch.set_num_threads(1)
    out = tmp_path_factory.mktemp("finished") / "run"
    made = case(override(find("digits"), ["epochs=2"]), "CBS-1-2")
    run(made, seed=0, out=out, device="cpu", overrides=["epochs=2"])
    return RunFolder(out)


@settled
@given(data=st.data())
def test_reports_of_anything_like_a_result(finished, tmp_path, data):
    folder = RunFolder(tmp_path / "runs" / "one")
    write_json(folder.run, read_json(finished.run))
    write_json(folder.result, harmed(data.draw, read_json(finished.result)))
    write_bytes(folder.metrics, finished.metrics.read_bytes())
    with documented:
        results_page(tmp_path / "runs")


@settled
@given(data=st.data())
def test_reports_of_anything_like_a_log(finished, tmp_path, data):
    folder = RunFolder(tmp_path / "runs" / "one")
    write_json(folder.run, read_json(finished.run))
    write_json(folder.result, read_json(finished.result))
    lines = harmed(data.draw, list(read_lines(finished.metrics)))
    write_bytes(folder.metrics, "".join(json.dumps(line) + "\n" for line in lines).encode())
    with documented:
        results_page(tmp_path / "runs")


@settled
@given(data=st.data())
def test_ensembles_and_resumes_of_anything_like_a_run(finished, tmp_path, data):
    folder = RunFolder(tmp_path / "run")
    for path in finished.path.rglob("*.safetensors"):
        write_bytes(folder.path / path.relative_to(finished.path), path.read_bytes())
    write_json(folder.run, harmed(data.draw, read_json(finished.run)))
    with documented:
        ensemble(folder.path, device="cpu")
    write_json(folder.result, harmed(data.draw, read_json(finished.result)))
    with documented:
        made = case(override(find("digits"), ["epochs=2"]), "CBS-1-2")
        run(made, seed=0, out=folder.path, device="cpu", overrides=["epochs=2"], resume=True)


@settled
@given(content=st.binary(max_size=60) | JSON.map(lambda value: json.dumps(value).encode()))
def test_any_bytes_as_records(tmp_path, content):
    path = tmp_path / "run.json"
    path.write_bytes(content)
    with documented:
        read_json(path)
    list(read_lines(path))


def split_files(root: Path, folder: str, names: tuple[str, ...], content: bytes) -> None:
    (root / folder).mkdir(exist_ok=True)
    for name in names:
        (root / folder / name).write_bytes(content)


@settled
@given(content=st.binary(max_size=60) | st.text(max_size=40).map(lambda text: text.encode()))
def test_any_bytes_as_a_text(tmp_path, content):
    split_files(tmp_path, "penn-treebank", ("ptb.train.txt", "ptb.valid.txt"), content)
    split_files(tmp_path, "penn-treebank", ("ptb.test.txt",), b"a b\n")
    with documented:
        load("ptb", tmp_path)


PAIR = {
    "gold_label": "neutral",
    "sentence1": "a b",
    "sentence2": "b",
    "sentence1_binary_parse": "(",
}


@settled
@given(data=st.data(), raw=st.none() | st.binary(max_size=40))
def test_anything_like_snli(tmp_path, data, raw):
    content = json.dumps(harmed(data.draw, PAIR)).encode() if raw is None else raw
    names = tuple(f"snli_1.0_{split}.jsonl" for split in ("train", "dev", "test"))
    split_files(tmp_path, "snli_1.0", names, json.dumps(PAIR).encode() + b"\n" + content + b"\n")
    with documented:
        load("snli", tmp_path)


HEAD = "pair_ID\tsentence_A\tsentence_B\tentailment_label\tSemEval_set"
CELLS = st.sampled_from(["", "1", "a b", "NEUTRAL", "TRAIN", "\x00", "é", "\r"])


@settled
@given(
    rows=st.lists(st.lists(CELLS, max_size=6), max_size=3), head=st.sampled_from([HEAD, "x", ""])
)
def test_anything_like_sick(tmp_path, rows, head):
    lines = [head, *("\t".join(row) for row in rows)]
    split_files(tmp_path, "sick", ("SICK.txt",), "\n".join(lines).encode())
    with documented:
        load("sick", tmp_path)


NUMBERS = st.sampled_from(["1", "-0.5", "nan", "inf", "1e999", "x", "", "1_0", "٣"])


@settled
@given(
    rows=st.lists(
        st.tuples(st.sampled_from(["a", "b", "", "\x00"]), st.lists(NUMBERS, max_size=4)),
        max_size=4,
    ),
    raw=st.none() | st.binary(max_size=40),
)
def test_anything_like_glove(tmp_path, rows, raw):
    text = "\n".join(" ".join([word, *numbers]) for word, numbers in rows)
    split_files(tmp_path, "glove", ("v.txt",), text.encode() if raw is None else raw)
    with documented:
        load("glove", tmp_path).matrix(["<pad>", "<unk>", "a", "b"])
