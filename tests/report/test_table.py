import pytest

from rebatch.errors import InputError
from rebatch.report import Cell, Table


def test_columns_of_numbers_stand_on_the_right():
    html = Table(columns=["name", "accuracy"], rows=[["BL", "97.1 ± 0.2"], ["CBS-5", "–"]]).html()
    assert '<th scope="col">name</th><th scope="col" class="n">accuracy</th>' in html
    assert '<td class="n">–</td></tr></tbody>' in html


def test_the_first_cell_of_a_row_names_the_others():
    html = Table(columns=["name", "accuracy"], rows=[["CBS-5", 97.1]]).html()
    assert '<tr><th scope="row">CBS-5</th><td class="n">97.1</td></tr>' in html


def test_lists_of_numbers_are_text():
    html = Table(columns=["", "sizes"], rows=[["", "10, 20, 40"]]).html()
    assert "<td>10, 20, 40</td>" in html


def test_numbers_get_separators():
    html = Table(columns=["", "updates"], rows=[["", 49468]]).html()
    assert '<td class="n">49,468</td>' in html


def test_the_best_cell_is_marked_for_eyes_and_ears():
    html = Table(columns=["", "a"], rows=[["", Cell(97.5, "best")]]).html()
    assert '<td class="n best">97.5<span class="hidden"> (best)</span></td>' in html


def test_a_note_is_shown_and_read():
    html = Table(columns=["", "a"], rows=[["", Cell("x", "warn", 'far "off"')]]).html()
    assert (
        '<td class="warn" title="far &quot;off&quot;">x'
        '<span class="hidden"> (far &quot;off&quot;)</span></td>' in html
    )


def test_everything_is_escaped():
    bad = '<script>alert("1")</script>&'
    table = Table(columns=[bad], rows=[[bad], [Cell(bad, note=bad)]], caption=bad, download=bad)
    assert "<script" not in table.html()
    assert "&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;&amp;" in table.html()


def test_the_file_to_save_has_plain_values():
    html = Table(columns=["n"], rows=[[Cell(1234, "best")]], download="n.csv").html()
    assert 'download="n.csv" href="data:text/csv;charset=utf-8,n%0D%0A1234%0D%0A"' in html


def test_the_file_to_save_has_numbers_where_people_read_texts():
    html = Table(columns=["a"], rows=[[Cell("−1,000", exact=-1000)], [Cell("–")]]).html()
    assert ">−1,000</th>" in html
    assert "a%0D%0A-1000%0D%0A%E2%80%93%0D%0A" in html


def test_a_cell_may_have_several_numbers_in_the_file():
    rows = [["BL", Cell("5.0 ± 0.1", exact=(5, 0.1))], ["CBS", Cell("–", exact=(None, None))]]
    html = Table(columns=["", "a"], rows=rows, saved_as=["", "mean", "deviation"]).html()
    assert ">5.0 ± 0.1</td>" in html
    assert ",mean,deviation%0D%0ABL,5,0.1%0D%0ACBS,,%0D%0A".replace(",", "%2C") in html


def test_a_table_may_do_without_a_file():
    assert "data:" not in Table(columns=["n"], rows=[[1]], download=False).html()


def test_an_empty_table_is_a_table():
    assert "<tbody></tbody>" in Table(columns=["n"], rows=[]).html()


def test_only_long_texts_may_break():
    html = Table(columns=["", "a", "b"], rows=[["", "x" * 40, "x" * 41]]).html()
    assert f'<td>{"x" * 40}</td><td class="long">{"x" * 41}</td>' in html


def test_a_row_of_another_length_is_refused():
    with pytest.raises(InputError, match="row must have a cell for each of 2 columns, got 1"):
        Table(columns=["a", "b"], rows=[[1, 2], [1]])
