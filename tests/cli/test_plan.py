import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import rebatch
from rebatch.cli import main

SMALL = ["--base", "10", "--epochs", "8", "--examples", "1000"]


def run(capsys, *arguments):
    code = main(["plan", *arguments])
    said = capsys.readouterr()
    return code, said.out, said.err


def process(*arguments, **options):
    source = str(Path(rebatch.__file__).parents[1])
    command = [sys.executable, *options.pop("flags", []), "-m", "rebatch", "plan", *arguments]
    given = {"env": {"PYTHONPATH": source}, "capture_output": True, "text": True, **options}
    return subprocess.run(command, **given)


@pytest.mark.parametrize(
    ("arguments", "updates"),
    [
        (["CBS-10", "--base", "10", "--epochs", "39", "--tokens", "929589", "--bptt", "35"], 49468),
        (["CBS-5-3-A", "--base", "128", "--epochs", "90", "--examples", "50000"], 15420),
    ],
)
def test_the_updates_of_the_paper_come_out(capsys, arguments, updates):
    code, out, err = run(capsys, *arguments, "--json")
    assert (code, err) == (0, "")
    assert json.loads(out)["updates"] == updates


def test_json_has_the_fixed_keys_and_rows(capsys):
    _, out, _ = run(capsys, "CBS-2-2", *SMALL, "--json")
    plan = json.loads(out)
    assert {"schedule", "base", "epochs", "updates", "rows"} <= set(plan)
    assert plan["rows"][1] == {
        "first_epoch": 2,
        "epochs": 2,
        "first_update": 200,
        "updates": 100,
        "first_sample": 2000,
        "samples": 2000,
        "batch_size": 20,
        "cycle": 0,
        "step": 1,
        "ends_cycle": True,
    }


def test_json_is_what_a_plan_is_read_from(capsys):
    _, out, _ = run(capsys, "CBS-2-2", *SMALL, "--json")
    expected = rebatch.plan(rebatch.parse("CBS-2-2", 10), epochs=8, examples=1000)
    assert rebatch.Plan.from_json(out) == expected


def test_several_codes_are_a_list_in_json(capsys):
    _, out, _ = run(capsys, "BL", "CBS-2", *SMALL, "--json")
    assert [plan["schedule"] for plan in json.loads(out)] == ["BL", "CBS-2"]


def test_the_table_ends_with_totals_and_cost(capsys):
    code, out, err = run(capsys, "CBS-2", *SMALL, "--baseline", "20")
    assert (code, err) == (0, "")
    assert out.splitlines()[-3:] == [
        "376 updates, 8,000 samples",
        "cycles end after epoch 8",
        "6.0 % fewer updates than BL at batch size 20 (400)",
    ]


def test_several_codes_are_compared(capsys):
    _, out, _ = run(capsys, "BL", "CBS-2", *SMALL)
    assert "CBS-2     10, 20, 40, 80  8" in out
    assert out.endswith("8 epochs of 1,000 examples\n")


def test_the_gallery_needs_nothing_else(capsys):
    code, out, _ = run(capsys, "--gallery", "--json")
    plans = json.loads(out)
    assert code == 0
    assert [plan["schedule"] for plan in plans] == (
        ["CBS-5", "CBS-5-A", "CBS-5-T", "CBS-1", "CBS-1-A", "CBS-1-T"]
    )
    assert {plan["base"] for plan in plans} == {10}


def test_the_gallery_takes_other_data(capsys):
    arguments = ["--gallery", "--base", "128", "--epochs", "20", "--examples", "50K", "--json"]
    _, out, _ = run(capsys, *arguments)
    assert json.loads(out)[0]["data"] == {"kind": "examples", "count": 50000, "drop_last": False}


def test_numbers_may_have_suffixes(capsys):
    _, out, _ = run(capsys, "0:768 250B:1536", "--samples", "500b", "--json")
    assert json.loads(out)["samples"] == 500_000_000_000


def test_other_clocks_and_lengths(capsys):
    arguments = ["--base", "10", "--clock", "updates", "--updates", "100", "--examples", "1000"]
    _, out, _ = run(capsys, "CBS-20-2", *arguments, "--json")
    assert [row["first_update"] for row in json.loads(out)["rows"]] == [0, 20, 40, 60, 80]


def test_tokens_of_examples(capsys):
    arguments = ["--samples", "1000", "--clock", "tokens", "--tokens-per-example", "10"]
    _, out, _ = run(capsys, "0:10 5K:20", *arguments, "--json")
    assert [row["samples"] for row in json.loads(out)["rows"]] == [500, 500]


def test_the_last_batch_may_be_dropped(capsys):
    _, out, _ = run(
        capsys, "BL", "--base", "30", "--epochs", "2", "--examples", "100", "--drop-last", "--json"
    )
    assert json.loads(out)["updates"] == 6


def test_a_width_longer_than_training_is_a_note(capsys):
    code, out, err = run(capsys, "CBS-50", *SMALL, "--json")
    assert code == 0
    assert json.loads(out)["updates"] == 800
    assert err.startswith("rebatch: note: the first step lasts 50 epochs, longer than training")
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["CBS-0", *SMALL],
            "schedule must be BL, CBS-k[-n][-A|-T], or AUTO, ABSA, GNS or PLATEAU, "
            "got 'CBS-0': at character 5, "
            "a width in epochs must be a whole number of at least 1, not '0'",
        ),
        (
            ["CBS-5-", *SMALL],
            "schedule must be BL, CBS-k[-n][-A|-T], or AUTO, ABSA, GNS or PLATEAU, "
            "got 'CBS-5-': at character 7, "
            "a number of steps must be a whole number of at least 2, not nothing",
        ),
        (
            ["CBS-5-3-B", *SMALL],
            "schedule must be BL, CBS-k[-n][-A|-T], or AUTO, ABSA, GNS or PLATEAU, "
            "got 'CBS-5-3-B': at character 9, "
            "'B' is neither A nor T",
        ),
        (
            ["CBS-5-A-T", *SMALL],
            "schedule must be BL, CBS-k[-n][-A|-T], or AUTO, ABSA, GNS or PLATEAU, "
            "got 'CBS-5-A-T': at character 9, "
            "nothing may follow -A",
        ),
        (["0:8 20:16 10:32", *SMALL], "thresholds must rise, got 10 after 20"),
        ([*SMALL], "schedule must be given, as a code such as CBS-5, got none"),
        (["BL", "--gallery"], "schedule must not be given with --gallery, got 'BL'"),
        (["--gallery", "--base", ""], "base must be a whole number of at least 1, got ''"),
        (["--gallery", "--tokens", ""], "tokens must be a whole number of at least 1, got ''"),
        (
            ["BL", *SMALL, "--clock", "days"],
            "clock must be one of epochs, updates, samples, tokens, got 'days'",
        ),
        (["BL", *SMALL[2:]], "base must be given with a paper code, got none for 'BL'"),
        (["BL", *SMALL[:4]], "examples must be given where epochs are counted, got none"),
        (
            ["BL", *SMALL, "--tokens", "9", "--bptt", "3"],
            "examples must not be given together with tokens, got both",
        ),
        (["BL", *SMALL[:4], "--tokens", "90"], "bptt must be given with tokens, got none"),
        (
            ["BL", *SMALL, "--updates", "9"],
            "length must be one of epochs, updates and samples, got epochs, updates",
        ),
        (["BL", *SMALL, "--plot", "a.pdf"], "plot must end in .png or .svg or .html, got 'a.pdf'"),
        (
            ["BL", *SMALL, "--plot", "gone/a.svg"],
            "plot must lie in a folder that exists, got 'gone/a.svg'",
        ),
        (["BL", *SMALL, "--colour"], "unrecognized arguments: --colour (see rebatch --help)"),
    ],
)
def test_wrong_input_is_one_line_and_exit_code_2(capsys, arguments, message):
    assert run(capsys, *arguments) == (2, "", f"rebatch: {message}\n")


@pytest.mark.parametrize(
    ("name", "text", "shown"),
    [
        ("base", "0", "0"),
        ("base", "-1", "-1"),
        ("base", "2.5", "2.5"),
        ("base", "ten", "'ten'"),
        ("base", "", "''"),
        ("epochs", "0", "0"),
        ("examples", "0", "0"),
        ("baseline", "0", "0"),
        ("baseline", "1e3", "1000.0"),
    ],
)
def test_numbers_are_refused_in_the_words_of_the_api(capsys, name, text, shown):
    message = f"rebatch: {name} must be a whole number of at least 1, got {shown}\n"
    assert run(capsys, "CBS-5", *SMALL, f"--{name}={text}") == (2, "", message)


@pytest.mark.parametrize(
    ("suffix", "start"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("html", b"<!DOCTYPE html>")]
)
def test_a_picture_is_written_and_named(capsys, tmp_path, suffix, start):
    if suffix != "html":
        pytest.importorskip("matplotlib")
    path = tmp_path / f"plan.{suffix}"
    code, out, _ = run(capsys, "BL", "CBS-2", *SMALL, "--plot", str(path))
    assert code == 0
    assert out.endswith(f"wrote {path}\n")
    assert path.read_bytes().startswith(start)
    assert os.listdir(tmp_path) == [path.name]


def test_a_picture_does_not_disturb_json(capsys, tmp_path):
    _, out, _ = run(capsys, "BL", *SMALL, "--json", "--plot", str(tmp_path / "a.html"))
    assert json.loads(out)["updates"] == 800


def test_a_picture_that_cannot_be_written_is_one_line(capsys, tmp_path):
    (tmp_path / "a.html").mkdir()
    code, out, err = run(capsys, "BL", *SMALL, "--plot", str(tmp_path / "a.html"))
    assert (code, out) == (1, "")
    assert err == f"rebatch: {tmp_path}/a.html could not be written: Is a directory\n"


def test_a_base_that_cannot_train_is_not_compared_with(capsys):
    arguments = ("--epochs", "3", "--examples", "6", "--drop-last", "--ranks", "2")
    code, out, err = run(capsys, "steps(7, every=1, factor=0.5)", *arguments)
    assert code == 0
    assert "4 updates, 10 samples, 8 left out\nno cycle ends\n\n" in out
    assert err == "rebatch: note: batch size 7 gives no update in an epoch of 6 samples\n"


def test_a_baseline_that_cannot_train_is_refused_before_anything_is_printed(capsys):
    arguments = ["--base", "10", "--epochs", "2", "--examples", "100", "--drop-last"]
    code, out, err = run(capsys, "BL", *arguments, "--baseline", "200")
    assert (code, out) == (2, "")
    assert err.startswith("rebatch: batch size must leave at least one update in an epoch of 100")


def test_the_help_teaches_the_codes(capsys):
    with pytest.raises(SystemExit) as left:
        main(["plan", "--help"])
    assert left.value.code == 0
    assert "rebatch plan CBS-5-3-A --base 128 --epochs 90 --examples 50000" in (
        capsys.readouterr().out
    )


def test_it_starts_without_torch_numpy_or_a_plotting_library():
    done = process("CBS-5", *SMALL, flags=["-X", "importtime"])
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert done.returncode == 0
    assert "rebatch.report._plan_text" in imported
    assert not imported & {"torch", "numpy", "matplotlib"}


def test_output_through_a_pipe_is_80_columns_of_blocks():
    done = process("CBS-2", *SMALL, env={"PYTHONPATH": str(Path(rebatch.__file__).parents[1])})
    assert "80┤" + " " * 57 + "█" * 19 in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert "\x1b" not in done.stdout


def test_a_pipe_that_cannot_show_blocks_gets_plain_characters():
    source = str(Path(rebatch.__file__).parents[1])
    done = process("CBS-2", *SMALL, env={"PYTHONPATH": source, "PYTHONIOENCODING": "ascii"})
    assert done.returncode == 0
    assert "80+" + " " * 57 + "#" * 19 in done.stdout
