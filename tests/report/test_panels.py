from xml.etree import ElementTree

from rebatch.report import Chart, Mark, Series, panels

SVG = "{http://www.w3.org/2000/svg}"
EVIL = "<script>alert(1)</script>"


def chart(title="A", *names, log=False):
    curves = [Series(name=name, x=[0, 1, 2], y=[10, 20, 40]) for name in names or ("BL",)]
    marks = [Mark(at=1, label="cycle ends", series=curves[0].name)]
    axes = {"x_label": "epochs", "y_label": "batch size"}
    return Chart(title=title, series=curves, marks=marks, log=log, height=200, **axes)


def drawn(charts, **sizes):
    """The picture as a tree: it is well-formed XML."""
    return ElementTree.fromstring(panels(charts, **{"columns": 2, "panel_width": 300, **sizes}))


def test_a_picture_has_a_panel_for_each_chart_in_rows():
    root = drawn([chart("A"), chart("B"), chart("C")])
    inner = root.findall(f".//{SVG}svg")
    assert [(panel.get("x"), panel.get("width")) for panel in inner] == [
        ("14", "300"),
        ("334", "300"),
        ("14", "300"),
    ]
    tops = [int(panel.get("y")) for panel in inner]
    assert tops[0] == tops[1]
    assert tops[2] - tops[0] == 226
    assert root.get("width") == "648"


def test_the_legend_stands_once_above_all_panels():
    text = panels(
        [chart("A", "BL", "CBS-5"), chart("B", "BL", "CBS-5")], columns=2, panel_width=300
    )
    assert text.count(">CBS-5</text>") == 1
    assert text.count(">cycle ends</text>") == 1


def test_a_long_legend_takes_further_rows():
    short = drawn([chart("A", "a", "b")])
    long = drawn([chart("A", *(f"a schedule of a long name, number {i}" for i in range(6)))])
    assert int(long.get("height")) > int(short.get("height"))


def test_the_same_charts_give_the_same_bytes_and_names_cannot_write_markup():
    charts = [chart(EVIL, EVIL, "b")]
    text = panels(charts, columns=1, panel_width=400)
    assert text == panels(charts, columns=1, panel_width=400)
    assert EVIL not in text
    assert "&lt;script&gt;" in text


def test_the_colours_are_those_of_the_page_by_day_and_by_night():
    text = panels([chart()], columns=1, panel_width=400)
    assert "--s0: #0072b2" in text
    assert "@media (prefers-color-scheme: dark)" in text
    assert "@media print" not in text
