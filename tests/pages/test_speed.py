"""The speed chart in a real browser: what it says, shows, and does when it is reached into."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.pages.conftest import Open
from tests.pages.drawn import Json, Site, charts, kernel, page, run, served, staircase

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser

PHONE = {"viewport": {"width": 390, "height": 800}}
BOXES = "all => all.map(one => one.getBoundingClientRect()).map(it => [it.left, it.top, it.right, it.bottom])"


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with served(Site()) as site:
        yield site


def drawn(site: Site, tab: Open, data: Json, **options: object) -> Page:
    """A tab with the charts of a run."""
    site.pages["/run"] = page(charts(data))
    shown = tab(**options).page
    shown.goto(f"{site.url}/run")
    shown.wait_for_selector("#speed-chart .chart-step")
    return shown


def small() -> Json:
    """Two rounds: a slower kernel, the winner's parent, one that failed; then a suspect, one due, and the winner."""
    first = [kernel("slow", 0, 20.0), kernel("root", 0, 9.0), kernel("lost", 0)]
    second = [kernel("odd", 1, 1.0, "root", status="suspect"), kernel("due", 1, None, "root", status=None)]
    return run([*first, *second, kernel("won", 1, 4.0, "root")], "root", "won")


def middle(shown: Page, x: float) -> tuple[float, float, float]:
    """Where round `x` is across the page; the plot's top, and its bottom."""
    box = shown.locator("#speed-chart .u-over").bounding_box()
    assert box
    return box["x"] + box["width"] * x / 2, box["y"], box["y"] + box["height"]


def test_the_chart_says_in_words_what_it_shows(site: Site, tab: Open) -> None:
    text = drawn(site, tab, small()).locator("#speed-chart .chart-summary").inner_text()
    assert text.startswith("6 kernels in 2 rounds: 3 verified, 1 suspect, 1 failed.")
    assert "idea won, takes 4 ms, 2.00× over torch eager (8 ms) and 1.25× over torch.compile (5 ms)" in text
    assert "no kernel can take less than 0.5 ms" in text


def test_steps_are_numbered_links_to_their_kernels(site: Site, tab: Open) -> None:
    steps = drawn(site, tab, small()).locator("#speed-chart a.chart-step")
    assert steps.all_inner_texts() == ["1", "2"]
    assert [step.get_attribute("href") for step in steps.all()] == ["/kernels/root", "/kernels/won"]


def test_a_step_that_failed_keeps_its_number(site: Site, tab: Open) -> None:
    line = [kernel("a", 0, 9.0), kernel("b", 1, None, "a"), kernel("c", 1, 4.0, "b", relation="repairs")]
    shown = drawn(site, tab, run(line, "a", "b", "c"))
    assert shown.locator("#speed-chart .chart-step.is-failed").inner_text() == "2"
    assert shown.locator("#speed-chart .chart-title b").all_inner_texts() == ["3", "1"]


@pytest.mark.parametrize("options", [{}, PHONE], ids=["desktop", "phone"])
def test_titles_cover_neither_each_other_nor_a_step(site: Site, tab: Open, options: dict[str, object]) -> None:
    shown = drawn(site, tab, staircase(16), **options)
    boxes = shown.locator("#speed-chart .chart-title").evaluate_all(BOXES)
    dots = shown.locator("#speed-chart .chart-step").evaluate_all(BOXES)
    assert len(dots) == 16
    assert 1 <= len(boxes) <= (3 if options else 16)
    pairs = [(one, other) for place, one in enumerate(boxes) for other in [*boxes[place + 1 :], *dots]]
    overlaps = [(a, b) for a, b in pairs if a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]]
    assert overlaps == []


def test_baselines_are_named_and_one_far_away_is_named_at_the_edge(site: Site, tab: Open) -> None:
    labels = drawn(site, tab, {**small(), "baselines": {"eager_ms": 9000, "compile_ms": 5, "floor_ms": 0.5}})
    found = labels.locator("#speed-chart .chart-line").all_inner_texts()
    assert found == ["torch eager 9000 ms ↑", "torch.compile 5 ms", "floor 0.5 ms"]


def test_a_failure_is_found_in_the_strip(site: Site, tab: Open) -> None:
    shown = drawn(site, tab, small())
    left, top, _ = middle(shown, 5 / 6)
    shown.mouse.move(left, top + 10)
    card = shown.locator("#speed-chart .chart-details")
    card.wait_for()
    assert "idea lost" in card.inner_text()
    assert "wrong" in card.inner_text()


def test_a_click_opens_the_kernel_under_the_pointer(site: Site, tab: Open) -> None:
    shown = drawn(site, tab, small())
    left, top, _ = middle(shown, 5 / 6)
    shown.mouse.click(left, top + 10)
    shown.wait_for_url("**/kernels/lost")


def test_a_tap_shows_a_kernel_with_a_link(site: Site, tab: Open) -> None:
    shown = drawn(site, tab, small(), **PHONE, has_touch=True)
    shown.locator("#speed-chart").scroll_into_view_if_needed()
    left, top, _ = middle(shown, 5 / 6)
    shown.touchscreen.tap(left, top + 10)
    link = shown.locator("#speed-chart .chart-details a")
    link.click()
    shown.wait_for_url("**/kernels/lost")


def test_the_keyboard_goes_from_kernel_to_kernel_and_opens_one(site: Site, tab: Open) -> None:
    shown = drawn(site, tab, small())
    shown.locator("#speed-chart .chart-box").focus()
    spoken = shown.locator("#speed-chart [role=status]")
    shown.keyboard.press("ArrowRight")
    assert spoken.inner_text().startswith("idea slow: verified · 20 ms")
    shown.keyboard.press("ArrowDown")
    assert spoken.inner_text().startswith("idea root")
    shown.keyboard.press("End")
    shown.keyboard.press("Enter")
    shown.wait_for_url("**/kernels/won")


def test_what_was_zoomed_into_stays_in_sight_when_kernels_come(site: Site, tab: Open) -> None:
    shown = drawn(site, tab, small())
    (left, _, bottom), (right, _, _) = middle(shown, 0.9), middle(shown, 1.9)
    shown.mouse.move(left, bottom - 20)
    shown.mouse.down()
    shown.mouse.move((left + right) / 2, bottom - 22)
    shown.mouse.move(right, bottom - 24)
    shown.mouse.up()
    whole = shown.get_by_role("button", name="Whole run")
    whole.wait_for()
    steps = shown.locator("#speed-chart .chart-step")
    assert steps.all_inner_texts() == ["2"]
    shown.evaluate("data => treesearch.follow(data)", run([*small()["kernels"], kernel("x", 2, 8.0)], "root", "won"))
    assert "7 kernels in 3 rounds" in shown.locator("#speed-chart .chart-summary").inner_text()
    assert steps.all_inner_texts() == ["2"]
    whole.click()
    steps.nth(1).wait_for()
    assert not whole.is_visible()


def test_a_hostile_title_is_text(site: Site, tab: Open) -> None:
    harm = '<img src=x onerror="alert(1)"></script><script>alert(2)</script>'
    data = run([kernel("a", 0, 9.0, title=harm), kernel("b", 1, 4.0, "a", title=harm)], "a", "b")
    site.pages["/harm"] = page(charts(data))
    opened = tab()
    opened.page.goto(f"{site.url}/harm")
    opened.page.wait_for_selector("#lineage-tree .node")
    opened.page.locator("#speed-chart .chart-box").focus()
    opened.page.keyboard.press("ArrowRight")
    assert opened.page.locator("#speed-chart .chart-details strong").inner_text() == harm
    assert opened.page.locator("img").count() == 0
    assert opened.complaints == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_charts_are_accessible_and_obey_the_policy(site: Site, tab: Open, scheme: str) -> None:
    site.pages["/axe"] = page(charts(small()))
    opened = tab(color_scheme=scheme, bypass_csp=False)
    opened.page.goto(f"{site.url}/axe")
    opened.page.wait_for_selector("#lineage-tree .node")
    assert opened.complaints == []
    assert opened.inaccessible() == []


def test_a_run_without_kernels_has_no_charts(site: Site, tab: Open) -> None:
    site.pages["/empty"] = page(charts(run([])))
    opened = tab()
    opened.page.goto(f"{site.url}/empty")
    assert not opened.page.locator("#speed-chart").is_visible()
    assert opened.complaints == []


@pytest.mark.parametrize("baseline", [8.0, None])
def test_a_run_in_which_nothing_is_right_yet_says_so(site: Site, tab: Open, baseline: float | None) -> None:
    due = kernel("due", 0, None, status=None)
    data = run([kernel("lost", 0), due], eager_ms=baseline, compile_ms=None, floor_ms=None)
    site.pages["/wrong"] = page(charts(data))
    opened = tab()
    opened.page.goto(f"{site.url}/wrong")
    words = opened.page.locator("#speed-chart .chart-summary")
    assert words.inner_text() == "2 kernels in 1 round: 0 verified, 0 suspect, 1 failed. None is right yet."
    assert opened.page.locator("#speed-chart .chart-line").count() == (1 if baseline else 0)
    opened.page.locator("#lineage-tree .node").nth(1).wait_for()
    assert opened.complaints == []


def test_figures_are_those_of_the_terminal(site: Site, tab: Open) -> None:
    opened = tab().page
    site.pages["/plain"] = page()
    opened.goto(f"{site.url}/plain")
    said = opened.evaluate("[0.0636, 1.2, 0.000012345, 12345.6, 2.5001, 100].map(treesearch.figure)")
    assert said == ["0.0636", "1.2", "0.0000123", "12346", "2.5", "100"]
    assert re.fullmatch(r"2\.41×", opened.evaluate("treesearch.ratio(2.414)"))
