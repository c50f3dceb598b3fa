import json

import pytest

from rebatch.report._values import csv_link, csv_text, json_block, written


def test_json_cannot_end_its_script_element():
    block = json_block({"name": "</script><!-- & \u2028"})
    assert "<" not in block
    assert "&" not in block
    assert "\u2028" not in block
    assert json.loads(block) == {"name": "</script><!-- & \u2028"}


def test_json_refuses_what_browsers_do_not_read():
    with pytest.raises(ValueError, match="not JSON compliant"):
        json_block(float("nan"))


def test_numbers_of_numpy_are_numbers():
    numpy = pytest.importorskip("numpy")
    assert json_block([numpy.float32(0.5), numpy.int64(3)]) == "[0.5,3.0]"


def test_csv_quotes_what_needs_it():
    assert csv_text(["a", "b"], [["x,y", 'say "hi"'], [1, None]]) == (
        'a,b\r\n"x,y","say ""hi"""\r\n1,\r\n'
    )


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\tx"])
def test_csv_holds_no_formula(text):
    assert csv_text(["a"], [[text]]).splitlines()[1].strip('"') == f"'{text}"


def test_negative_numbers_stay_numbers_in_csv():
    assert csv_text(["a"], [[-1.5]]) == "a\r\n-1.5\r\n"


def test_a_link_carries_its_file():
    assert csv_link('a"b.csv', "x\r\n1 % <", "<save>") == (
        '<a class="csv" download="a&quot;b.csv" '
        'href="data:text/csv;charset=utf-8,x%0D%0A1%20%25%20%3C">&lt;save&gt;</a>'
    )


def test_people_read_numbers_with_separators():
    texts = [written(value) for value in (1_234_567, 1234.0, 2.5, 1 / 3, None, "a")]
    assert texts == ["1,234,567", "1,234", "2.5", "0.333333", "", "a"]
