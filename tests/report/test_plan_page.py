import json
import re

import rebatch
from rebatch.report._plan_page import plan_page


def plan(code, epochs=8, examples=1000, **options):
    return rebatch.plan(rebatch.parse(code, 10), epochs=epochs, examples=examples, **options)


def charts(html):
    blocks = re.findall(r'<script type="application/json">(.*?)</script>', html)
    return [json.loads(block) for block in blocks]


def test_one_plan_is_drawn_over_epochs_and_over_updates():
    by_epoch, by_update = charts(plan_page([plan("CBS-2-2")]))
    assert by_epoch["series"] == [
        {"name": "CBS-2-2", "step": True, "x": [0, 2, 4, 6, 8], "y": [10, 20, 10, 20, 20]}
    ]
    assert by_update["series"][0]["x"] == [0, 200, 300, 500, 600]
    assert [mark["at"] for mark in by_epoch["marks"]] == [4, 8]


def test_several_plans_are_drawn_on_the_same_axes():
    made = charts(plan_page([plan("BL"), plan("CBS-2-2-A")]))
    assert [chart["title"] for chart in made] == ["BL", "CBS-2-2-A"] * 2
    assert made[0]["yRange"] == made[1]["yRange"]
    assert [chart["xRange"] for chart in made] == [[0, 8], [0, 8], [0, 800], [0, 800]]


def test_the_cost_is_told_against_the_baseline():
    html = plan_page([plan("CBS-2-2")], 20)
    assert '<th scope="col" class="n">updates against BL at 20</th>' in html
    assert '<td class="n">50.0 % more</td>' in html


def test_a_base_that_no_epoch_has_an_update_of_is_no_baseline():
    made = plan("steps(7, every=1, factor=0.5)", epochs=3, examples=6, drop_last=True)
    assert '<td class="n">10</td><td>–</td></tr>' in plan_page([made])


def test_a_long_plan_has_all_its_rows_in_a_file():
    html = plan_page([plan("CBS-1", epochs=400)])
    assert '<th scope="row">… 388 rows …</th>' not in html
    assert "… 388 rows …" in html
    assert "CSV of all 400 rows" in html
    assert len(html) < 300_000
