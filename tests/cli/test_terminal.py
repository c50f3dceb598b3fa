"""Terminals that cannot show every sign, and names that no encoding holds."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import rebatch
from rebatch.cli import _terminal


def printed_in(encoding, *words):
    environment = {
        **os.environ,
        "PYTHONPATH": str(Path(rebatch.__file__).parents[1]),
        "PYTHONIOENCODING": encoding,
        "COLUMNS": "80",
    }
    command = [sys.executable, "-m", "rebatch", *words]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_help_and_tables_come_out_in_plain_characters():
    assert "BL, CBS-5-3-A, AUTO, ..." in printed_in("ascii", "train", "--help")
    assert "35,238-53,452" in printed_in("ascii", "recipes")


def test_the_c_locale_gets_tables_in_plain_characters_too():
    assert "35,238-53,452" in printed_in("ascii:surrogateescape", "recipes")


@pytest.mark.parametrize(
    ("text", "shown"),
    [("92.59 ± 0.32", b"92.59 +- 0.32"), ("an é", b"an \\xe9"), ("a \udcff", b"a \\udcff")],
)
def test_a_sign_that_cannot_be_shown_is_written_out(text, shown):
    assert text.encode("ascii", _terminal.NAME) == shown


def test_the_c_locale_gets_the_name_of_a_file_as_it_is():
    assert "caf\udce9…\udcff é".encode("ascii", _terminal.NAME_IN_C) == b"caf\xe9...\xff \\xe9"
