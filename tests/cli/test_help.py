"""What ``--help`` prints fits a terminal of 80 columns."""

import pytest

from rebatch.cli import main

BENCHES = ("gpu", "cpu", "switching", "overhead", "gauges", "profile", "feeding", "show")
COMMANDS = [
    [],
    *([name] for name in ("plan", "demo", "recipes", "data", "sweep", "reproduce", "ensemble")),
    *([name] for name in ("report", "bench", "train", "probe")),
    *(["data", name] for name in ("list", "get", "check")),
    *(["bench", name] for name in BENCHES),
]


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_no_line_of_the_help_is_too_long(words, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit, match="0"):
        main([*words, "--help"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("usage: ")
    assert [line for line in lines if len(line) > 80] == []
