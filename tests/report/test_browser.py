"""The page in a real browser: drawn, answering, and talking to nobody."""

import json
import shutil
import tempfile
from pathlib import Path

import pytest

from rebatch.report import (
    Cell,
    Chart,
    Heading,
    Mark,
    Series,
    Table,
    Text,
    page,
    results_page,
    write,
)

pytest.importorskip("selenium", reason="the browser tests need selenium")
CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(
    not (CHROMIUM and DRIVER),
    reason="the browser tests need chromium: apt-get install chromium chromium-driver",
)
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--disable-dev-shm-usage", "--hide-scrollbars", "--window-size=1000,800"),
)
BAD = "</script><script>window.broken = 1</script><img src=x onerror='window.broken = 1'>"

CONTROLS = [f"control: {name}" for name in ("equal-noise", "equal-updates", "whole-batch-norm")]


def sections():
    xs = range(21)
    curves = [
        Series(name="BL", x=xs, y=[90 + x / 4 for x in xs]),
        Series(name=BAD, x=xs, y=[80 + x for x in xs], low=[79 + x for x in xs], high=[99] * 21),
    ]
    axes = {"x_label": "epochs", "y_label": BAD}
    steps = Series(name="CBS-5", x=[0, 5, 10, 15, 20], y=[10, 20, 40, 80, 80], step=True)
    return [
        Heading(BAD),
        Text(BAD),
        Table(columns=["n", BAD], rows=[[1, Cell(BAD, "best", BAD)]], caption=BAD),
        Chart(title=BAD, series=curves, marks=[Mark(at=10, label=BAD, series="BL")], **axes),
        Chart(title="Batch size", series=[steps], log=True, **axes),
        Chart(title="Nothing", series=[], **axes),
    ]


@pytest.fixture(scope="module")
def driver():
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        for flag in (*FLAGS, f"--user-data-dir={profile}"):
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        made = webdriver.Chrome(options=options, service=Service(DRIVER))
        yield made
        made.quit()


@pytest.fixture
def browser(driver, tmp_path):
    driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    driver.get(write(tmp_path / "page.html", page(BAD, sections())).as_uri())
    return driver


def find(browser, selector):
    return browser.find_elements("css selector", selector)


def drag(browser, start, end):
    """Drag over the first chart between two shares of its plotting area."""
    from selenium.webdriver import ActionChains

    svg = find(browser, ".plot svg")[0]
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", svg)
    width = svg.rect["width"]
    places = [round(58 + share * (width - 72) - width / 2) for share in (start, end)]
    chain = ActionChains(browser, duration=20).move_to_element_with_offset(svg, places[0], 0)
    chain.click_and_hold().move_by_offset(places[1] - places[0], 0).release().perform()


def hover(browser, share, chart=0):
    from selenium.webdriver import ActionChains

    svg = find(browser, ".plot svg")[chart]
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", svg)
    width = svg.rect["width"]
    place = round(58 + share * (width - 72) - width / 2)
    ActionChains(browser, duration=20).move_to_element_with_offset(svg, place, 0).perform()


def readings(browser, chart=0):
    return find(browser, ".tip")[chart].text.splitlines()


def ticks(browser):
    return [tick.text for tick in find(browser, "figure:first-of-type .tick.mid")]


def test_nothing_is_complained_about_and_nobody_is_called(browser):
    hover(browser, 0.5)
    complaints = [entry for entry in browser.get_log("browser") if entry["level"] != "INFO"]
    events = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    sent = [event for event in events if event["method"] == "Network.requestWillBeSent"]
    schemes = {event["params"]["request"]["url"].partition(":")[0] for event in sent}
    assert complaints == []
    assert "file" in schemes
    assert schemes <= {"file", "data", "chrome"}


def test_no_label_runs(browser):
    hover(browser, 0.5)
    assert browser.execute_script("return window.broken") is None
    assert find(browser, "img") == []
    assert browser.title == BAD


def test_the_curves_are_drawn(browser):
    boxes = [curve.rect for curve in find(browser, ".plot path.curve")]
    assert len(boxes) == 3
    assert all(box["width"] > 500 and box["height"] > 40 for box in boxes)
    assert len(find(browser, ".plot path.band")) == 1
    assert len(find(browser, ".plot path.mark")) == 1


def test_hovering_tells_the_exact_values(browser):
    hover(browser, 0.5)
    assert readings(browser) == ["epochs 10", "BL", "92.5", BAD, "90 (89 to 99)", f"BL: {BAD}"]


def test_a_step_tells_the_value_that_holds(browser):
    hover(browser, 0.6, chart=1)
    assert readings(browser, chart=1) == ["epochs 10", "CBS-5", "40"]


def test_leaving_the_chart_hides_the_values(browser):
    from selenium.webdriver import ActionChains

    hover(browser, 0.5)
    assert find(browser, ".tip")[0].is_displayed()
    ActionChains(browser, duration=20).move_to_element(find(browser, "figcaption")[0]).perform()
    assert not find(browser, ".tip")[0].is_displayed()


def test_dragging_zooms_and_a_double_click_shows_all(browser):
    from selenium.webdriver import ActionChains

    drag(browser, 0.25, 0.5)
    assert {"6", "7", "8", "9"} <= set(ticks(browser))
    assert "20" not in ticks(browser)
    ActionChains(browser, duration=20).double_click(find(browser, ".plot svg")[0]).perform()
    assert ticks(browser)[-1] == "20"


def test_the_button_shows_all_again(browser):
    assert not find(browser, ".all")[0].is_displayed()
    drag(browser, 0.25, 0.5)
    find(browser, ".all")[0].click()
    assert ticks(browser)[-1] == "20"
    assert not find(browser, ".all")[0].is_displayed()


def test_keys_read_the_values_aloud_and_zoom(browser):
    from selenium.webdriver.common.keys import Keys

    plot = find(browser, ".plot")[1]
    plot.send_keys(Keys.HOME, Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
    spoken = find(browser, "figure output")[1].get_attribute("textContent")
    assert spoken == "epochs 10; CBS-5 40"
    plot.send_keys("+")
    assert find(browser, ".all")[1].is_displayed()
    plot.send_keys("0")
    assert not find(browser, ".all")[1].is_displayed()


def test_the_legend_hides_a_curve_and_its_marks(browser):
    button = find(browser, ".legend button")[0]
    button.click()
    assert button.get_attribute("aria-pressed") == "false"
    assert len(find(browser, "figure:first-of-type .plot path.curve")) == 1
    assert find(browser, "figure:first-of-type .plot path.mark") == []
    button.click()
    assert len(find(browser, "figure:first-of-type .plot path.curve")) == 2


def test_a_phone_needs_no_scrolling_sideways(browser):
    phone = {"width": 360, "height": 740, "deviceScaleFactor": 2, "mobile": True}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", phone)
    browser.refresh()
    assert browser.execute_script("return document.documentElement.scrollWidth") == 360
    sizes = browser.execute_script(
        "return [...document.querySelectorAll('.tick')].map(t => t.getBoundingClientRect().height)"
    )
    assert min(sizes) >= 11


@pytest.mark.parametrize(("scheme", "paper"), [("light", 255), ("dark", 16)])
def test_the_page_follows_the_colours_of_the_system(browser, scheme, paper):
    feature = {"name": "prefers-color-scheme", "value": scheme}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
    colour = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
    assert colour.startswith(f"rgb({paper},")


def test_without_a_script_the_chart_is_there(driver, tmp_path):
    driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        driver.get(write(tmp_path / "page.html", page("t", sections())).as_uri())
        assert len(find(driver, ".plot path.curve")) == 3
        assert find(driver, ".tip") == []
    finally:
        driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


@pytest.fixture
def decided(driver, adaptive, tmp_path):
    driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    driver.get(write(tmp_path / "page.html", results_page(adaptive)).as_uri())
    return driver


def test_decisions_are_rings_that_tell_their_reason(decided):
    rings = find(decided, "figure:first-of-type circle.ring")
    assert len(find(decided, ".plot")[0].find_elements("css selector", "circle.ring")) == 6
    assert all(ring.rect["width"] >= 9 for ring in rings)
    hover(decided, (200 - 100) / (425 - 100))
    assert readings(decided)[0] == "updates 200"
    assert readings(decided)[-2:] == [
        f"AUTO, seed {seed}: 10 → 20, after epoch 2, update 200: noise scale 84 is above 2 x 40: "
        "doubling is free [noise scale 84, train loss 2.25]"
        for seed in (0, 1)
    ]


def test_the_keys_read_decisions_aloud(decided):
    from selenium.webdriver.common.keys import Keys

    find(decided, ".plot")[4].send_keys(Keys.HOME, Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
    spoken = find(decided, "figure output")[4].get_attribute("textContent")
    assert spoken.startswith("updates 200; AUTO, seed 0 20; AUTO, seed 1 20; AUTO, seed 0: 10 → 20")


def test_a_hidden_curve_takes_its_decisions_along(decided):
    find(decided, ".legend button")[0].click()
    assert len(find(decided, ".plot")[0].find_elements("css selector", "circle.ring")) == 3
    hover(decided, (200 - 100) / (425 - 100))
    assert not any("seed 0" in line for line in readings(decided))


def test_the_reason_of_a_decision_does_not_run(driver, hostile, tmp_path):
    driver.get(write(tmp_path / "page.html", results_page(hostile)).as_uri())
    hover(driver, (200 - 100) / (425 - 100))
    assert "window.broken = 1" in readings(driver)[-1]
    assert driver.execute_script("return window.broken") is None
    assert find(driver, "img") == []


def test_the_csv_of_a_table_is_what_the_table_shows(decided):
    from urllib.parse import unquote

    links = find(decided, ".save a.csv")
    assert [link.get_attribute("download") for link in links] == ["digits.csv", "decisions.csv"]
    text = unquote(links[1].get_attribute("href").partition(",")[2])
    lines = text.split("\r\n")
    assert lines[0].startswith("run,after epoch,after update,batch size,next,")
    assert len(lines) == 10  # eight decisions, the head and the end
    assert '"AUTO, seed 0",2.0,200,10,20,1.0,,1.0,' in lines[2]


def test_paper_has_the_curves_and_neither_links_nor_colours_of_the_night(decided):
    dark = {"name": "prefers-color-scheme", "value": "dark"}
    decided.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print", "features": [dark]})
    try:
        shown = "return getComputedStyle(document.querySelector(arguments[0]))[arguments[1]]"
        assert decided.execute_script(shown, "body", "backgroundColor") == "rgb(255, 255, 255)"
        assert decided.execute_script(shown, ".save", "display") == "none"
        assert decided.execute_script(shown, ".plot path.curve", "display") != "none"
    finally:
        decided.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": []})


@pytest.fixture(scope="module")
def ours(driver, tmp_path_factory):
    """The page of the project's own records."""
    driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    page = results_page(Path(__file__).parents[2] / "results")
    driver.get(write(tmp_path_factory.mktemp("ours") / "page.html", page).as_uri())
    return driver


def test_the_page_of_our_records_has_whole_tables_and_every_curve(ours):
    tables, titles, curves = ours.execute_script(
        "const all = (s) => [...document.querySelectorAll(s)];"
        "return [all('table').map(t => [t.caption?.textContent, "
        "...[...t.tBodies[0].rows].map(r => r.cells[0].textContent)]), "
        "all('figcaption').map(f => f.textContent), "
        "all('.plot').map(p => p.querySelectorAll('path.curve').length)]"
    )
    assert ["c2-cifar10", "BL", "CBS-15", *CONTROLS, "CBS-10-3", "CBS-5-3", "CBS-5-3-A"] in tables
    for by in ("update", "epoch"):
        for what in ("Test perplexity", "Training perplexity", "Batch size", "Test accuracy, %"):
            assert f"{what} by {by}" in titles
    assert min(curves) >= 1
    assert [entry for entry in ours.get_log("browser") if entry["level"] != "INFO"] == []


def sized(browser, width, media=""):
    """Lay the page out in this width."""
    screen = {"width": width, "height": 1000, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media})
    return browser


@pytest.fixture
def phone(ours):
    yield sized(ours, 390)
    sized(ours, 1000)


@pytest.fixture
def sheet(ours):
    """Our page on A4 without its margins."""
    yield sized(ours, 718, "print")
    sized(ours, 1000)


WIDEST = "return Math.max(...[...document.querySelectorAll('table')].map(t => t.offsetWidth))"
WIDTHS = "return [...document.querySelectorAll('th')].map(c => c.offsetWidth)"
WIDTH = "return document.documentElement.scrollWidth"
CUT = (
    "return [...document.querySelectorAll('th, td')]"
    ".filter(c => c.scrollWidth > c.clientWidth + 1).map(c => c.textContent)"
)


def test_our_wide_tables_scroll_inside_themselves_on_a_phone(phone):
    assert phone.execute_script(WIDEST) > 390
    assert phone.execute_script(WIDTH) == 390


def test_on_paper_no_table_runs_off_the_sheet(sheet):
    assert sheet.execute_script(WIDEST) <= 718


@pytest.fixture
def crowded(driver, extreme, tmp_path):
    """The page of runs with long names, large figures and many reasons."""
    driver.get(write(tmp_path / "page.html", results_page(extreme)).as_uri())
    yield driver
    sized(driver, 1000)


def test_however_long_names_and_figures_are_a_sheet_holds_the_tables(crowded):
    sized(crowded, 718, "print")
    assert crowded.execute_script(WIDEST) <= 718
    assert crowded.execute_script(WIDTH) <= 718
    assert crowded.execute_script(CUT) == []


def test_however_long_names_are_only_tables_scroll_sideways(crowded):
    for width in (360, 1000):
        sized(crowded, width)
        assert crowded.execute_script(WIDTH) == width


def test_widths_for_paper_change_nothing_on_a_screen(crowded):
    sized(crowded, 1000)
    crowded.execute_script("document.querySelectorAll('colgroup').forEach(c => c.remove())")
    without = crowded.execute_script(WIDTHS)
    crowded.refresh()
    assert crowded.execute_script(WIDTHS) == without
