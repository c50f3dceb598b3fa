import pytest
from hypothesis import given
from hypothesis import strategies as st

from rebatch import Plan
from rebatch.report._drawing import ASCII, UNICODE, Drawing
from rebatch.report._stairs import Stairs, stairs, unit_of


def drawing(*every, unit="epochs", width=30, height=4, **options):
    return Drawing(every, unit, width, height, **options)


CYCLE = Stairs("CBS-2-3", edges=(0, 2, 4, 6, 8), sizes=(10, 20, 40, 10), ends=(6,))


def test_each_doubling_is_one_line_where_that_fits():
    assert drawing(CYCLE, width=19).lines(CYCLE) == [
        "40┤        ████",
        "20┤    ████████",
        "10┤████████████████",
        "  └───────────┴────",
    ]


def test_the_footer_names_both_ends_of_training():
    assert drawing(CYCLE, width=19).footer() == "   0       8 epochs"


def test_lower_lines_use_eighths_of_a_character():
    assert drawing(CYCLE, width=11, height=1).lines(CYCLE) == [
        "40┤▂▂▄▄▆▆▂▂",
        "  └─────┴──",
    ]


def test_other_stairs_are_drawn_on_the_same_scales():
    tall = Stairs("A", edges=(0, 4, 16), sizes=(10, 80))
    both = drawing(CYCLE, tall, width=19)
    assert both.lines(tall) == [
        "80┤    ████████████",
        "  │    ████████████",
        "  │    ████████████",
        "10┤████████████████",
        "  └────────────────",
    ]
    assert both.lines(CYCLE) == [
        "  │",
        "40┤    ██",
        "20┤  ████",
        "10┤████████",
        "  └─────┴──────────",
    ]


def test_stairs_too_narrow_to_draw_are_a_shade_from_the_lowest_to_the_highest():
    many = Stairs("CBS-1-3", edges=tuple(range(301)), sizes=(10, 20, 40) * 100)
    assert drawing(many, width=13).lines(many)[:3] == [
        "40┤░░░░░░░░░░",
        "20┤░░░░░░░░░░",
        "10┤██████████",
    ]


def test_a_terminal_without_blocks_gets_plain_characters():
    lines = drawing(CYCLE, width=19, glyphs=ASCII).lines(CYCLE)
    assert lines == [
        "40+        ####",
        "20+    ########",
        "10+################",
        "  +-----------|----",
    ]


def test_a_constant_size_is_one_line():
    flat = Stairs("BL", edges=(0, 10), sizes=(128,))
    assert drawing(flat, width=14).lines(flat) == ["128┤██████████", "   └──────────"]


@pytest.mark.parametrize("width", [20, 80])
@given(plan=st.from_type(Plan))
def test_every_plan_can_be_drawn_within_its_width(plan, width):
    unit = unit_of([plan])
    made = stairs(plan, unit)
    picture = drawing(made, unit=unit, width=width, height=7)
    lines = picture.lines(made)
    assert len(lines) <= 8
    assert max(map(len, lines)) <= max(width, picture.gutter + 10)
    assert len(lines[-1]) == picture.gutter + picture.columns
    assert set(lines[-2]) & set(UNICODE.blocks[1:])
