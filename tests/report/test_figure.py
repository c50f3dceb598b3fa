import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

import rebatch
from rebatch.report._figure import picture

pytest.importorskip("matplotlib")


def plans(*codes):
    return [rebatch.plan(rebatch.parse(code, 10), epochs=8, examples=1000) for code in codes]


def test_a_png_is_a_png():
    data = picture(plans("CBS-2"), "png")
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    assert int.from_bytes(data[16:20]) == 1200


def test_an_svg_has_a_panel_for_each_plan_and_is_the_same_every_time():
    data = picture(plans("BL", "CBS-2", "CBS-2-A", "CBS-2-T", "CBS-1"), "svg")
    groups = [element.get("id") for element in ElementTree.fromstring(data).iter()]
    assert [name for name in groups if name and name.startswith("axes_")] == [
        "axes_1",
        "axes_2",
        "axes_3",
        "axes_4",
        "axes_5",
    ]
    assert picture(plans("BL", "CBS-2", "CBS-2-A", "CBS-2-T", "CBS-1"), "svg") == data


def test_drawing_leaves_the_settings_of_matplotlib_alone():
    import matplotlib

    before = matplotlib.rcParams["axes.edgecolor"]
    picture(plans("CBS-2"), "svg")
    assert matplotlib.rcParams["axes.edgecolor"] == before


def test_without_matplotlib_one_line_says_what_to_install(tmp_path):
    code = (
        "import sys\n"
        "sys.modules['matplotlib'] = None\n"
        "import rebatch.cli as cli\n"
        "sys.exit(cli.main(['plan', '--gallery', '--plot', sys.argv[1]]))\n"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "a.png")]
    source = str(Path(rebatch.__file__).parents[1])
    done = subprocess.run(command, capture_output=True, text=True, env={"PYTHONPATH": source})
    assert done.returncode == 1
    assert done.stderr == "rebatch: a picture needs matplotlib: pip install 'rebatch[plot]'\n"
    assert done.stdout == ""
    assert list(tmp_path.iterdir()) == []
