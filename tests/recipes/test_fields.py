import pytest

from rebatch.errors import InputError
from rebatch.rates import Rate, constant
from rebatch.recipes._fields import converted, read


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (str, "3", "3"),
        (int, "3", 3),
        (int | None, "None", None),
        (float, "1e-3", 1e-3),
        (float | None, "2", 2.0),
        (bool, "FALSE", False),
        (Rate, "0.5", constant(0.5)),
        (tuple[int, ...], "()", ()),
        (tuple[tuple[str, str], ...], "[('a', 'b')]", (("a", "b"),)),
    ],
)
def test_texts_become_values(kind, text, value):
    assert read("field", kind, text) == value


@pytest.mark.parametrize("text", ["((((", "9" * 5000, "[" * 3000, "__import__('os')", "1 + x", ""])
def test_texts_that_are_no_values_are_refused(text):
    with pytest.raises(InputError, match=r"^field must be a whole number, got "):
        read("field", int, text)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (int, True),
        (int, 1.0),
        (bool, 1),
        (float, "1"),
        (tuple[int, ...], (1, "a")),
        (tuple[tuple[str, str], ...], (("a", "b", "c"),)),
        (tuple[int, ...], 1),
        (int | None, "none"),
        (Rate, None),
    ],
)
def test_values_of_another_type_are_refused(kind, value):
    with pytest.raises(InputError, match=r"^field must be "):
        converted("field", kind, value)
