"""``rebatch plan --ranks``: tables, JSON, refusals, and the page that shows its output."""

import json
import re
import shlex
from pathlib import Path

import pytest

from rebatch.cli import main

PAGE = Path(__file__).parents[2] / "docs" / "scaling.md"
CONSOLE = re.compile(r"^```console\n\$ rebatch ((?:.*\\\n)*.*)\n((?:.*\n)*?)^```$", re.MULTILINE)
SMALL = ["plan", "CBS-2-3", "--base", "64", "--epochs", "6", "--examples", "1024"]
TIMES = ["--update-times", "1:11,2:12"]
NETWORK = ["--network", "1", "--parameters", "1M"]


def lines(capsys, *arguments):
    code = main(list(arguments))
    said = capsys.readouterr()
    assert (code, said.err) == (0, "")
    return [line.rstrip() for line in said.out.splitlines()]


def test_time_and_efficiency_of_each_step_are_printed(capsys):
    out = lines(capsys, *SMALL, "--ranks", "8", *TIMES)
    start = out.index("CBS-2-3  simulated on 8 ranks")
    assert out[start:] == [
        "CBS-2-3  simulated on 8 ranks",
        "",
        "       batch     a   micro-         compute  network        an",
        " step   size  rank  batches   idle       ms       ms     epoch  efficiency",
        " " + "─" * 73,
        "    0     64     8        1  0.0 %    18.00     0.00  288.0 ms      51.4 %",
        "    1    128    16        1  0.0 %    26.00     0.00  208.0 ms      66.3 %",
        "    2    256    32        1  0.0 %    42.00     0.00  168.0 ms      79.2 %",
        "",
        "CBS-2-3: 1.3 s at 63.1 % efficiency",
        "BL at batch size 64: 1.7 s at 51.4 %, so 23.1 % less time for CBS-2-3",
        "",
        "A simulation, no measurement. Idle: ranks' time spent without a sample.",
        "Update times: t(b) = 10 + 1 b ms (as given),",
        "from batch sizes of 1 to 2, at most 0.0 % off there, a guess elsewhere.",
        "Network: free, without --network and --parameters.",
    ]


def test_without_update_times_the_sizes_are_shown_alone(capsys):
    out = lines(capsys, *SMALL, "--ranks", "100", "--micro-batch", "2")
    start = out.index("CBS-2-3  simulated on 100 ranks, micro-batches up to 2")
    assert out[start + 5 : start + 8] == [
        "    0     64     1        1  36.0 %",
        "    1    128     2        1  36.0 %",
        "    2    256     3        2  14.7 %",
    ]
    assert "time and efficiency need --update-times" in out


def test_the_network_is_said(capsys):
    out = lines(capsys, *SMALL, "--ranks", "2", *TIMES, *NETWORK, "--latency", "50")
    assert out[-2:] == [
        "Network: a ring, once an update, 1,000,000 gradients of 4 bytes,",
        "1 GB/s, 50 us a message; it does not overlap with computing.",
    ]
    assert any("42.00     4.10" in line for line in out)


def test_groups_of_batch_norm_stay_on_one_rank(capsys):
    out = lines(capsys, *SMALL, "--ranks", "8", "--norm-batch", "64", "--micro-batch", "64")
    start = out.index("CBS-2-3  simulated on 8 ranks, micro-batches up to 64, batch norm in 64s")
    assert out[start + 5 : start + 8] == [
        "    0     64    64        1  87.5 %",
        "    1    128    64        1  75.0 %",
        "    2    256    64        1  50.0 %",
    ]


def test_several_codes_and_numbers_of_ranks_have_a_table_each(capsys):
    out = lines(capsys, *SMALL[:2], "BL", *SMALL[2:], "--ranks", "8,64", *TIMES)
    titles = [line for line in out if "  simulated on " in line]
    assert titles == [
        "CBS-2-3  simulated on 8 ranks",
        "CBS-2-3  simulated on 64 ranks",
        "BL  simulated on 8 ranks",
        "BL  simulated on 64 ranks",
    ]
    assert out.count("BL at batch size 64: 1.7 s at 51.4 %") == 1


def test_a_long_ramp_is_shortened(capsys):
    ramp = ["plan", "polynomial(8, 64, length=50)", "--epochs", "50", "--examples", "1000"]
    out = lines(capsys, *ramp, "--ranks", "8")
    start = out.index("polynomial(8, 64, length=50)  simulated on 8 ranks")
    table = out[start + 5 : out.index("", start + 5)]
    assert len(table) == 20
    assert table[17].split() == ["…"] * 5


def test_json_has_it_under_scaling(capsys):
    main([*SMALL, "--ranks", "2", "--micro-batch", "64", *TIMES, *NETWORK, "--json"])
    scaling = json.loads(capsys.readouterr().out)["scaling"]
    assert (scaling["simulation"], scaling["ranks"]) == (True, 2)
    assert scaling["steps"][2]["micro_batches"] == 2
    assert scaling["steps"][2]["compute_seconds"] == pytest.approx(0.148)
    assert scaling["baseline"]["seconds"] == pytest.approx(96 * 0.046)


def test_json_of_several_numbers_of_ranks_is_a_list(capsys):
    main([*SMALL, "--ranks", "8,64", "--json"])
    assert [each["ranks"] for each in json.loads(capsys.readouterr().out)["scaling"]] == [8, 64]


def test_json_without_ranks_has_no_such_key(capsys):
    main([*SMALL, "--json"])
    assert "scaling" not in json.loads(capsys.readouterr().out)


def test_update_times_are_read_from_a_file(capsys, tmp_path):
    (tmp_path / "mine.txt").write_text("# milliseconds\n1:11\n2:12\n")
    out = lines(capsys, *SMALL, "--ranks", "8", "--update-times", str(tmp_path / "mine.txt"))
    assert "Update times: t(b) = 10 + 1 b ms (from mine.txt)," in out


def test_update_times_have_presets(capsys):
    out = lines(capsys, *SMALL, "--ranks", "8", "--update-times", "resnet20")
    line = "Update times: t(b) = 1.213 + 0.006597 b ms (resnet20, measured on one H200),"
    assert line in out


def test_a_recipe_is_simulated_as_well(capsys):
    out = lines(
        capsys,
        *("plan", "--recipe", "l1-ptb", "--schedule", "CBS-10"),
        *("--ranks", "4", "--update-times", "l1"),
    )
    assert "CBS-10  simulated on 4 ranks" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--micro-batch", "2"], "ranks must be given with micro_batch, got none"),
        (["--update-times", "l1"], "ranks must be given with update_times, got none"),
        (["--ranks", "0"], "ranks must be a whole number of at least 1, got 0"),
        (["--ranks", "8,"], "ranks must be a whole number of at least 1, got ''"),
        (
            ["--ranks", "8", "--micro-batch", "2.5"],
            "micro_batch_size must be a whole number of at least 1, got 2.5",
        ),
        (
            ["--ranks", "8", "--micro-batch", "6", "--norm-batch", "4"],
            "micro_batch_size must be a multiple of 4, the group of batch norm, got 6",
        ),
        (
            ["--ranks", "8", "--update-times", "gone.txt"],
            "update_times must be points such as 32:9.5,64:15.2, a text file of them or one of "
            "resnet20, wrn-16-4, l1, l2, got 'gone.txt'",
        ),
        (
            ["--ranks", "8", "--update-times", "1:2"],
            "update_times must be of at least two batch sizes, got 1",
        ),
        (["--ranks", "8", *NETWORK], "update_times must be given with network, got none"),
        (
            ["--ranks", "8", *TIMES, "--network", "1"],
            "parameters must be given with network, got none",
        ),
        (
            ["--ranks", "8", *TIMES, "--latency", "1"],
            "network must be given with parameters and latency, got none",
        ),
        (
            ["--ranks", "8", *TIMES, "--network", "fast", "--parameters", "1"],
            "network must be a finite number above 0, got 'fast'",
        ),
        (
            ["--ranks", "8", *TIMES, *NETWORK, "--latency=-1"],
            "latency must be a finite number of at least 0, got -1.0",
        ),
    ],
)
def test_wrong_input_is_one_line(capsys, arguments, message):
    assert main([*SMALL, *arguments]) == 2
    assert capsys.readouterr() == ("", f"rebatch: {message}\n")


@pytest.mark.parametrize(
    ("command", "shown"), CONSOLE.findall(PAGE.read_text(encoding="utf-8")), ids=["all", "one"]
)
def test_the_page_shows_what_the_command_prints(capsys, command, shown):
    out = lines(capsys, *shlex.split(command.replace("\\\n", "")))
    start = next(index for index, line in enumerate(out) if "  simulated on " in line)
    assert shown.splitlines() == out[start:]
    assert max(map(len, out)) <= 80
