import json
import re

from rebatch.report import Chart, Mark, Series
from rebatch.report._chart_html import chart_html


def html(*series, marks=(), title="Loss by epoch"):
    chart = Chart(title=title, x_label="epoch", y_label="loss", series=series, marks=marks)
    return chart_html(chart, "part-1")


def data(text):
    return json.loads(re.search(r'<script type="application/json">(.*?)</script>', text)[1])


def test_every_curve_has_a_switch_in_the_legend():
    text = html(*(Series(name=name, x=[0], y=[1]) for name in ("BL", "CBS-5")))
    names = re.findall(r'aria-pressed="true" data-series="(\d)".*?<span>(.*?)</span>', text)
    assert names == [("0", "BL"), ("1", "CBS-5")]


def test_one_curve_needs_no_legend_but_its_marks_do():
    marks = [Mark(at=1, label="a cycle ends"), Mark(at=2, label="a cycle ends")]
    text = html(Series(name="BL", x=[0, 3], y=[1, 2]), marks=marks)
    assert "<button" not in text
    assert text.count("<span>a cycle ends</span>") == 1


def test_the_script_gets_exact_values_and_null_for_gaps():
    text = html(Series(name="a", x=[0, 1], y=[0.1 + 0.2, float("nan")]))
    assert data(text)["series"] == [
        {"name": "a", "step": False, "x": [0, 1], "y": [0.30000000000000004, None]}
    ]


def test_labels_cannot_leave_their_place():
    bad = "</script><script>alert(1)</script>\"'&"
    series = [Series(name=bad, x=[0], y=[1]), Series(name="b", x=[0], y=[1])]
    text = html(*series, marks=[Mark(at=0, label=bad)], title=bad)
    assert text.count("<script") == 1
    assert text.count("</script>") == 1
    assert data(text)["series"][0]["name"] == bad


def test_the_data_stand_in_a_table_with_a_row_for_each_x():
    text = html(Series(name="a", x=[0, 2], y=[5, 6]), Series(name="b", x=[1, 2], y=[7, 8]))
    body = re.search(r"<tbody>(.*?)</tbody>", text)[1]
    rows = [
        re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in re.findall(r"<tr>.*?</tr>", body)
    ]
    assert rows == [["0", "5", ""], ["1", "", "7"], ["2", "6", "8"]]


def test_a_long_table_is_thinned_but_its_file_is_whole():
    text = html(Series(name="a", x=range(1000), y=range(1000)))
    assert text.count("<tr>") == 201
    assert "One row in 5; the CSV has all 1,000." in text
    assert text.count("%0D%0A") == 1001


def test_bands_have_columns_of_their_own():
    text = html(Series(name="a", x=[0], y=[2], low=[1], high=[3]))
    assert "epoch%2Ca%2Ca%20low%2Ca%20high%0D%0A0%2C2%2C1%2C3%0D%0A" in text


def test_the_file_is_named_after_the_chart():
    assert 'download="loss-by-epoch.csv"' in html()
    assert 'download="chart.csv"' in html(title="???")
