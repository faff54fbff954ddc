"""A page that follows its run, tables that sort, runs that are compared: the other scripts in a real browser."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.pages.conftest import Open
from tests.pages.drawn import Json, Site, charts, embedded, kernel, page, run, served

pytestmark = pytest.mark.browser

ROWS = [("a", "12 ms", "12.0"), ("b", "–", ""), ("c", "3 ms", "3.0"), ("d", "100 ms", "100")]


@pytest.fixture
def site() -> Iterator[Site]:
    with served(Site()) as site:
        yield site


def table(*more: tuple[str, str, str]) -> str:
    cells = [
        f'<tr><td><a href="/kernels/{n}">{n}</a></td><td data-value="{v}">{t}</td></tr>' for n, t, v in [*ROWS, *more]
    ]
    head = "<thead><tr><th scope=col>kernel</th><th scope=col>time</th></tr></thead>"
    body = f'<tbody id="kernels-body" data-live>{"".join(cells)}</tbody>'
    return f'<div id="kernels-tools" hidden></div><table id="kernels" data-sortable>{head}{body}</table>'


def before() -> Json:
    return run([kernel("a", 0, 9.0)], "a")


def after() -> Json:
    return run([kernel("a", 0, 9.0), kernel("new", 1, 3.0, "a")], "a", "new", version="2")


def following(
    data: Json, *, events: bool = True, rows: tuple[tuple[str, str, str], ...] = (), facts: str = "one"
) -> str:
    live = f'<div id="facts" data-live><details id="more"><summary>{facts}</summary>open</details></div>'
    return page('<p id="live-state" role="status" hidden></p>', live, table(*rows), charts(data), events=events)


NAMES = (
    "[...document.querySelectorAll('#kernels tbody tr:not([hidden])')].map(row => row.cells[0].textContent).join('')"
)


def test_columns_sort_by_value_with_what_is_empty_last(site: Site, tab: Open) -> None:
    site.pages["/"] = page(table())
    shown = tab().page
    shown.goto(site.url)
    time = shown.get_by_role("button", name="time")
    time.click()
    assert shown.evaluate(NAMES) == "cadb"
    assert time.locator("..").get_attribute("aria-sort") == "ascending"
    time.click()
    assert shown.evaluate(NAMES) == "dacb"
    assert time.locator("..").get_attribute("aria-sort") == "descending"


def test_the_filter_leaves_rows_with_every_word(site: Site, tab: Open) -> None:
    site.pages["/"] = page(table())
    shown = tab().page
    shown.goto(site.url)
    shown.get_by_label("Filter kernels").fill("MS 1")
    assert shown.evaluate(NAMES) == "ad"
    assert shown.locator("#kernels-tools [role=status]").inner_text() == "2 of 4 kernels"


def test_a_change_is_put_in_place_and_what_the_reader_did_stays(site: Site, tab: Open) -> None:
    site.pages["/"] = following(before())
    opened = tab()
    shown = opened.page
    shown.goto(site.url)
    shown.get_by_role("button", name="time").click()
    shown.locator("summary").click()
    shown.locator("#kernels a").first.focus()
    shown.evaluate("document.body.dataset.mark = 'not loaded again'")
    site.change("2", "/", following(after(), rows=(("new", "1 ms", "1"),), facts="two"))
    shown.locator("summary", has_text="two").wait_for()
    shown.locator("#live-state", has_text="is the new best").wait_for()
    assert shown.evaluate(NAMES) == "newcadb"
    assert shown.evaluate("document.activeElement.textContent") == "c"
    assert shown.locator("#more").evaluate("it => it.open")
    assert shown.locator("#live-state").inner_text() == "Kernel new, idea new, is the new best: 3 ms, 2.67× over torch."
    assert shown.locator("#speed-chart .chart-step").count() == 2
    assert shown.locator("body").get_attribute("data-mark") == "not loaded again"
    assert opened.complaints == []


def test_a_run_that_ends_is_followed_no_longer(site: Site, tab: Open) -> None:
    site.pages["/"] = following(before())
    shown = tab().page
    shown.goto(site.url)
    site.change("2", "/", following(after(), events=False))
    shown.locator("#live-state", has_text="The run has ended.").wait_for()


def test_a_server_that_is_gone_is_said_to_be_and_found_again(site: Site, tab: Open) -> None:
    site.pages["/"] = following(before())
    shown = tab().page
    shown.goto(site.url)
    shown.locator("#live-state", has_text="Live").wait_for()
    site.leave()
    shown.locator("#live-state.is-lost").wait_for()
    site.gone = False
    shown.locator("#live-state:not(.is-lost)", has_text="The server is back.").wait_for()


def test_runs_are_compared_on_one_axis(site: Site, tab: Open) -> None:
    runs = [
        {"run": "r1", "label": "one", "points": [[0, 4.0], [2, 1.0]]},
        {"run": "r2", "label": "", "points": [[1, 2.0]]},
    ]
    unknown = {"run": "r3", "label": "three", "points": []}
    data = {"axis": "dollars", "unit": "US dollars", "runs": [*runs, unknown]}
    site.pages["/"] = page('<figure id="compare-chart" hidden></figure>', embedded("compare-data", data))
    opened = tab()
    opened.page.goto(site.url)
    opened.page.wait_for_selector("#compare-chart canvas")
    assert opened.page.locator("#compare-chart li").all_text_contents() == ["one 1 ms", "r2 2 ms"]
    said = opened.page.locator("#compare-chart .chart-summary").inner_text()
    assert said == "The best time so far of 2 runs by US dollars. The fastest is one: 1 ms."
    assert opened.complaints == []
    assert opened.inaccessible() == []
