from dataclasses import KW_ONLY, dataclass, field

import pytest

from rebatch import InputError
from rebatch._call import Value, evaluate


@dataclass(frozen=True, repr=False)
class pair(Value):
    left: object
    right: object
    _: KW_ONLY
    sign: int = 1
    hidden: int = field(init=False, default=0)


MAKERS = {"pair": pair, "list": list}


def test_a_value_prints_as_its_call_without_defaults():
    assert repr(pair(1, "b")) == "pair(1, 'b')"
    assert repr(pair((1, 2.5), None, sign=-1)) == "pair((1, 2.5), None, sign=-1)"


@pytest.mark.parametrize(
    "value", [pair(1, 2), pair(-1.5, None, sign=-3), pair(pair("x", True), ((1, 2), ()))]
)
def test_a_call_is_read_back(value):
    assert evaluate(repr(value), MAKERS, what="it must be a call") == value


def test_lists_become_tuples_and_dictionaries_pairs():
    assert evaluate("pair([1], {2: 3})", MAKERS, what="") == pair((1,), ((2, 3),))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("pair(1,", ""),
        ("pair(1, 2", ""),
        ("", ""),
        ("pair({**{}}, 1)", ""),
        ("pair(a, 1)", ": at character 6, only calls, numbers, texts and tuples may stand"),
        (
            "pair(1 if 1 else 2, 1)",
            ": at character 6, only calls, numbers, texts and tuples may stand",
        ),
        ("pair(f'', 1)", ": at character 6, only calls, numbers, texts and tuples may stand"),
        ("pair.mro()", ": at character 1, only calls, numbers, texts and tuples may stand"),
        ("exit()", ": at character 1, 'exit' is none of list, pair"),
        ("pair(1, 2, 3)", ": at character 1, pair() takes 3 positional arguments but 4 were given"),
        ("pair(1, 2, size=3)", ": at character 1, pair() got an unexpected keyword argument"),
        ("list(list(5))", ": at character 6, 'int' object is not iterable"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_place(text, why):
    with pytest.raises(InputError) as caught:
        evaluate(text, MAKERS, what="it must be a call")
    assert str(caught.value).startswith(f"it must be a call, got {text!r}{why}")
