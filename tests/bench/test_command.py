import json

import pytest
import torch

from rebatch.cli import Parser, bench
from rebatch.errors import InputError, RunError


def command(*words):
    parser = Parser()
    bench.register(parser.add_subparsers(parser_class=Parser))
    arguments = parser.parse_args(["bench", *words])
    arguments.run(arguments)


TRY = ("--only", "demo", "--sizes", "16", "--quick", "--seconds", "0.02", "--rounds", "1")


def test_a_cpu_is_measured_printed_written_and_drawn(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    command("cpu", *TRY, "--out", str(tmp_path), "--json", str(tmp_path / "again.json"))
    printed = capsys.readouterr().out
    again = json.loads((tmp_path / "again.json").read_text())
    (cell,) = again["cells"]
    assert f"{cell['ratio']:.2f}x" in printed
    assert "only 0.01 of the data" in printed
    (written,) = set(tmp_path.glob("cpu-*.json"))
    assert json.loads(written.read_text()) == again
    assert written.with_suffix(".svg").read_text().count("roofline") >= 1
    command("show", str(written), "--plot", str(tmp_path / "speed.png"))
    assert capsys.readouterr().out == printed
    assert (tmp_path / "speed.png").read_bytes()[:4] == b"\x89PNG"


def test_cells_measured_before_stay_in_the_folder_and_new_ones_are_added(tmp_path):
    def sizes():
        (written,) = tmp_path.glob("*.json")
        return [cell["batch_size"] for cell in json.loads(written.read_text())["cells"]]

    small = ("cpu", "--only", "demo", "--quick", "--seconds", "0.01", "--out", str(tmp_path))
    command(*small, "--sizes", "16", "--rounds", "1")
    command(*small, "--sizes", "32", "--rounds", "1")
    assert sizes() == [16, 32]
    command(*small, "--sizes", "32", "--rounds", "1")
    assert sizes() == [16, 32]


def test_a_record_of_other_settings_is_not_written_over(tmp_path):
    command("cpu", *TRY, "--out", str(tmp_path))
    (written,) = tmp_path.glob("*.json")
    before = written.read_text()
    for more, told in (
        (("--rounds", "2"), "its rounds is 1, not 2"),
        (("--set", "hidden=9"), r"its settings is \[\], not \['hidden=9'\]"),
    ):
        with pytest.raises(InputError, match=f"^out must hold no record of other.*json: {told}$"):
            command("cpu", *TRY, *more, "--out", str(tmp_path))
    assert written.read_text() == before


@pytest.mark.parametrize(
    ("what", "words", "told"),
    [
        ("switching", (), "its cycles is 2, not 1"),
        ("overhead", ("--updates", "3"), "its updates is 3, not 2"),
        ("profile", ("--updates", "3"), "its updates is 3, not 2"),
        ("gauges", ("--seconds", "0.01"), "its seconds is 0.01, not 0.02"),
        ("packing", ("--jobs", "1", "--seconds", "0.01"), "its seconds is 0.01, not 0.02"),
    ],
)
def test_a_full_record_of_a_part_is_not_replaced_by_a_trial(what, words, told, tmp_path):
    other = {"switching": ("--cycles", "1"), "overhead": ("--updates", "2")}
    other |= {"profile": other["overhead"]}
    common = (what, "--model", "demo", "--device", "cpu", "--out", str(tmp_path))
    command(*common, "--quick", *words)
    (written,) = tmp_path.iterdir()
    full = {**json.loads(written.read_text()), "quick": False}
    written.write_text(json.dumps(full))
    for more, complaint in (
        (("--quick", *words), "its quick is False, not True"),
        ((*words, *other.get(what, ("--seconds", "0.02"))), told),
    ):
        with pytest.raises(
            InputError, match=f"^out must hold no record of other.*json: {complaint}$"
        ):
            command(*common, *more)
    assert json.loads(written.read_text()) == full


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("cpu", "--only", "C9"), "only must be one of L1"),
        (("cpu", "--sizes", "0"), "sizes must be"),
        (("cpu", "--plot", "speed.pdf"), "plot must end in .png or .svg, got 'speed.pdf'"),
        (("cpu", "--set", "hiden=3", *TRY), "did you mean hidden"),
        (("cpu", *TRY, "--engine", "graphs"), "engine must be eager"),
        (("overhead", "--updates", "none"), "updates must be"),
        (("overhead", "--model", "C9"), "model must be one of L1, .*, got 'C9'"),
        (("gauges", "--model", "C9"), "model must be one of L1, .*, got 'C9'"),
        (("gauges", "--seconds", "no"), "seconds must be"),
        (("profile", "--model", "C9"), "model must be one of L1, .*, got 'C9'"),
        (("switching", "--model", "C9"), "model must be one of L1, .*, got 'C9'"),
        (("packing", "--jobs", "2,x"), "jobs must be"),
    ],
)
def test_what_makes_no_sense_is_refused(words, complaint):
    with pytest.raises(InputError, match=complaint):
        command(*words)


@pytest.mark.parametrize("what", ["switching", "overhead", "profile", "packing"])
def test_a_place_that_cannot_be_written_is_known_before_anything_is_measured(what, tmp_path):
    (tmp_path / "file").touch()
    # Nothing is measured of C9: it would be refused next.
    with pytest.raises(RunError, match=r"file could not be written: File exists$"):
        command(what, "--model", "C9", "--device", "cpu", "--out", str(tmp_path / "file"))


@pytest.mark.skipif(torch.cuda.is_available(), reason="needs a machine without a CUDA device")
def test_a_gpu_that_is_not_there_is_said_to_be_missing():
    with pytest.raises(InputError, match="device must be a GPU that torch can use"):
        command("gpu")


def test_another_file_is_no_record(tmp_path):
    (tmp_path / "run.json").write_text("{}")
    (tmp_path / "half.json").write_text('{"kind": "cpu"}')
    for name in ("run.json", "half.json", "none.json"):
        with pytest.raises(InputError, match="record must be a file that rebatch bench wrote"):
            command("show", str(tmp_path / name))


def test_only_speeds_are_drawn_or_written_as_markdown(tmp_path):
    (tmp_path / "record.json").write_text('{"kind": "switching", "steps": []}')
    for words in (("--markdown",), ("--plot", str(tmp_path / "speed.svg"))):
        with pytest.raises(InputError, match="record must be of gpu or cpu for that, got one of s"):
            command("show", str(tmp_path / "record.json"), *words)


def test_changing_sizes_is_measured_and_written(tmp_path, capsys):
    words = ("--model", "demo", "--device", "cpu", "--quick", "--out", str(tmp_path))
    command("switching", *words, "--cycles", "2")
    printed = capsys.readouterr().out
    assert "first against second" in printed
    (written,) = tmp_path.iterdir()
    command("show", str(written))
    assert capsys.readouterr().out == printed
    steps = json.loads(written.read_text())["steps"]
    assert [(step["cycle"], step["batch_size"]) for step in steps] == [
        *((0, 16), (0, 32), (0, 64), (0, 128)),
        *((1, 16), (1, 32), (1, 64), (1, 128)),
    ]
    assert all(step["first"] > 0 for step in steps)


def test_several_runs_at_once_are_measured_and_written(tmp_path, capsys):
    words = ("--model", "demo", "--size", "16", "--jobs", "2", "--seconds", "0.1")
    command("packing", *words, "--device", "cpu", "--quick", "--out", str(tmp_path))
    printed = capsys.readouterr().out
    assert "without a service; asked on a GPU is 1.25x" in printed
    (written,) = tmp_path.iterdir()
    command("show", str(written))
    assert capsys.readouterr().out == printed
    assert [level["jobs"] for level in json.loads(written.read_text())["levels"]] == [1, 2]


def test_the_cost_of_the_loop_is_measured_and_written(tmp_path, capsys):
    words = ("--model", "demo", "--device", "cpu", "--quick", "--out", str(tmp_path))
    command("overhead", *words, "--updates", "20")
    printed = capsys.readouterr().out
    assert "all but the update and waiting for it" in printed
    (written,) = tmp_path.iterdir()
    command("show", str(written))
    assert capsys.readouterr().out == printed
    record = json.loads(written.read_text())
    assert record["parts"]["update"] > 0
    assert record["profile"]


def test_the_cost_of_the_gauges_is_measured_and_written(tmp_path, capsys):
    words = ("--model", "demo", "--device", "cpu", "--out", str(tmp_path))
    command("gauges", *words, "--seconds", "0.01")
    printed = capsys.readouterr().out
    assert "9 of 90" in printed
    assert "asked is less than 3 %" in printed
    (written,) = tmp_path.glob("gauges-demo-*.json")
    command("show", str(written))
    assert capsys.readouterr().out == printed
    assert [size["batch_size"] for size in json.loads(written.read_text())["sizes"]] == [
        *(16, 32, 64, 128)
    ]


def test_where_an_update_spends_its_time_is_measured_and_written(tmp_path, capsys):
    words = ("--model", "demo", "--size", "16", "--device", "cpu", "--quick")
    command("profile", *words, "--updates", "10", "--out", str(tmp_path))
    printed = capsys.readouterr().out
    assert "aten::addmm" in printed
    (written,) = tmp_path.glob("profile-demo-16-*.json")
    command("show", str(written))
    assert capsys.readouterr().out == printed
    record = json.loads(written.read_text())
    times = [each for *_, each in record["kernels"]]
    assert times == sorted(times, reverse=True)
    calls = {name: each for name, each, _ in record["kernels"]}
    assert 3 <= calls["aten::addmm"] < 3.5  # three layers an update, and now and then a gauge
    assert record["whole"] > 0


def test_the_words_of_esim_are_made_up_for_every_measurement(capsys):
    command(
        "profile", "--model", "E1", "--size", "4", "--device", "cpu", "--quick", "--updates", "1"
    )
    assert "E1 at 4" in capsys.readouterr().out
