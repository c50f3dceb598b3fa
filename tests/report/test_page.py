import base64
import hashlib
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

import rebatch.report
from rebatch.report import Chart, Download, Heading, Series, Table, Text, page

VOID = {"meta", "link"}


class Nesting(HTMLParser):
    """Fails where an element is closed that is not open."""

    def __init__(self):
        super().__init__()
        self.open = []

    def handle_starttag(self, tag, attrs):
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def sections():
    curves = [Series(name=name, x=[0, 1, 2], y=[1, 4, 9]) for name in ("a", "b")]
    chart = Chart(title="c", x_label="x", y_label="y", series=curves)
    table = Table(columns=["n"], rows=[[1]])
    return [Heading("One"), Text("p"), table, [chart, chart], Download("a.csv", "x", "all")]


def test_elements_are_closed_in_order():
    parser = Nesting()
    parser.feed(page("t", sections()))
    assert parser.open == []


def test_the_same_sections_give_the_same_page():
    assert page("t", sections()) == page("t", sections())


def test_the_page_names_no_address_to_load_from():
    html = page("t", sections())
    assert re.findall(r'(?:src|href)="(?!data:|#)([^"]*)"', html) == []
    assert set(re.findall(r"https?://[^\"'\s]+", html)) == {"http://www.w3.org/2000/svg"}


def test_only_our_own_script_and_style_may_run():
    html = page("t", sections())
    script, style = (
        re.search(rf"<{tag}>(.*?)</{tag}>", html, re.DOTALL)[1] for tag in ("script", "style")
    )
    digests = [
        base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        for text in (script, style)
    ]
    assert f"style-src 'sha256-{digests[1]}'; script-src 'sha256-{digests[0]}'" in html
    assert "default-src 'none'" in html
    assert not re.search(r'<[^>]* (style|on\w+)="', html)


def test_sections_in_a_list_stand_side_by_side():
    html = page("t", [[Text("left"), Text("right")]])
    assert '<div class="beside"><div><p>left</p></div><div><p>right</p></div></div>' in html


def test_charts_have_names_of_their_own():
    html = page("t", sections())
    assert len(set(re.findall(r'<figure class="chart" id="([^"]*)"', html))) == 2


def test_paragraphs_and_code_are_the_only_markup_of_a_text():
    html = page("t", [Text("Made by `rebatch demo`.\n\n<b>a & b</b>")])
    assert "<p>Made by <code>rebatch demo</code>.</p><p>&lt;b&gt;a &amp; b&lt;/b&gt;</p>" in html


def test_three_headings_make_a_list_of_contents():
    two = [Heading("A b"), Heading("C")]
    assert "<nav" not in page("t", two)
    assert '<a href="#a-b">A b</a><a href="#c">C</a>' in page("t", [*two, Heading("D")])
    assert '<h2 id="a-b">A b</h2>' in page("t", two)


def test_the_title_is_escaped():
    html = page("<script>alert(1)</script>", [])
    assert html.count("&lt;script&gt;alert(1)&lt;/script&gt;") == 2


@pytest.mark.parametrize("mode", ["light", "dark", "print"])
def test_every_curve_stands_out_from_the_paper(mode):
    css = Path(rebatch.report.__file__).with_name("page.css").read_text()
    block = re.findall(r":root \{(.*?)\}", css, re.DOTALL)[("light", "dark", "print").index(mode)]
    colours = dict(re.findall(r"--(\w+): (#[0-9a-f]{6})", block))
    curves = [contrast(colours[f"s{index}"], colours["paper"]) for index in range(6)]
    texts = [contrast(colours[name], colours["paper"]) for name in ("ink", "soft", "link")]
    cells = [contrast(colours["ink"], colours[name]) for name in ("best", "warn", "panel")]
    assert min(curves) >= 3
    assert min(texts + cells) >= 4.5


def contrast(one, two):
    lights = sorted((luminance(one), luminance(two)))
    return (lights[1] + 0.05) / (lights[0] + 0.05)


def luminance(colour):
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
