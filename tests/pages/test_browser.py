"""Pages in a real browser: what a person does there, and what they must never do by themselves."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

from tests import hostile
from tests.hostile import Hostile
from tests.pages import stock
from tests.pages.serving import Asked, serving
from tests.pages.stock import Stock
from treesearch.archive import Archive
from treesearch.pages import study
from treesearch.pages.report import report

if TYPE_CHECKING:
    from playwright.sync_api import ViewportSize

    from tests.pages.conftest import Open, Tab

pytestmark = pytest.mark.browser

PHONE: ViewportSize = {"width": 360, "height": 740}
DESKTOP: ViewportSize = {"width": 1280, "height": 900}


@pytest.fixture(scope="module")
def stocked(tmp_path_factory: pytest.TempPathFactory) -> Stock:
    return stock.fill(tmp_path_factory.mktemp("stock") / "archive.db")


@pytest.fixture(scope="module")
def harmful(tmp_path_factory: pytest.TempPathFactory) -> Hostile:
    return hostile.fill(tmp_path_factory.mktemp("hostile") / "archive.db")


@pytest.fixture(scope="module")
def site(stocked: Stock, harmful: Hostile) -> Iterator[Asked]:
    with serving(stocked.path, harmful.path) as asked:
        yield asked


KINDS = ["first", "problem", "run", "kernel", "failed kernel", "compare", "absent"]


def path_of(kind: str, stocked: Stock) -> str:
    return {
        "first": "/",
        "problem": f"/problems/{stocked.run.problem}",
        "run": f"/runs/{stocked.run.id}",
        "kernel": f"/kernels/{stocked.repair}",
        "failed kernel": f"/kernels/{stocked.broken}",
        "compare": f"/compare?run={stocked.run.id}",
        "absent": "/runs/nowhere",
    }[kind]


def stray(tab: Tab, asked: Asked) -> list[str]:
    """What was asked of anybody but the server."""
    return [url for url in tab.requests if urlsplit(url).scheme != "data" and not url.startswith(f"{asked.url}/")]


@pytest.mark.parametrize("kind", KINDS)
def test_pages_are_accessible_in_light_and_dark_and_on_a_phone(
    tab: Open, site: Asked, stocked: Stock, kind: str
) -> None:
    opened = tab(viewport=DESKTOP, color_scheme="light")
    opened.page.goto(site.url + path_of(kind, stocked))
    found = {"light": opened.inaccessible()}
    opened.page.emulate_media(color_scheme="dark")
    found["dark"] = opened.inaccessible()
    opened.page.set_viewport_size(PHONE)
    found["phone"] = opened.inaccessible()
    assert found == {"light": [], "dark": [], "phone": []}
    assert opened.page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    assert not stray(opened, site)
    if kind != "absent":  # of which the browser itself says that it was refused
        assert not opened.complaints


# ── what a person does ──────────────────────────────────────────────────────────────────────────


def test_a_click_on_a_node_of_the_lineage_leads_to_its_diff(tab: Open, site: Asked, stocked: Stock) -> None:
    opened = tab(viewport=DESKTOP)
    opened.page.goto(f"{site.url}/runs/{stocked.run.id}")
    opened.page.locator(f"#lineage-tree a[href='/kernels/{stocked.repair}']").click()
    opened.page.wait_for_url(f"**/kernels/{stocked.repair}")
    opened.page.locator("table.diff").wait_for()
    added = opened.page.locator("table.diff tr.added").all_inner_texts()
    assert any("// tiled & <fast>" in line for line in added)
    assert not stray(opened, site)
    assert not opened.complaints


def test_an_open_page_follows_its_run(tab: Open, tmp_path: Path) -> None:
    stocked = stock.fill(tmp_path / "archive.db", finished=False)
    with serving(stocked.path) as asked, Archive(stocked.path) as archive:
        opened = tab(viewport=DESKTOP)
        with opened.page.expect_request("**/events"):
            opened.page.goto(f"{asked.url}/runs/{stocked.run.id}")
        faster = stock.add(archive, stocked, "9.0", 0.125)
        opened.page.locator(f"#kernels-body tr[data-kernel='{faster.id}']").wait_for(state="attached")
        opened.page.locator(f"#node-{faster.id}").wait_for()
        opened.page.locator("#live-state", has_text="is the new best").wait_for()
        opened.page.locator("#winner", has_text="0.125 ms").wait_for()
        assert not stray(opened, asked)
        assert not opened.complaints


def test_with_scripts_blocked_the_tables_remain(tab: Open, site: Asked, stocked: Stock) -> None:
    opened = tab(viewport=DESKTOP, java_script_enabled=False)
    opened.page.goto(f"{site.url}/runs/{stocked.run.id}")
    assert opened.page.locator(f"#kernels-body tr[data-kernel='{stocked.repair}']").is_visible()
    assert opened.page.locator("#winning-line table").is_visible()
    assert not opened.page.locator("figure").first.is_visible()
    opened.page.locator("#winning-line a").last.click()
    opened.page.locator("table.diff").wait_for()


def test_a_report_opens_from_a_file_and_asks_nobody_for_anything(tab: Open, stocked: Stock, tmp_path: Path) -> None:
    path = tmp_path / "run.html"
    with Archive(stocked.path, read_only=True) as archive:
        path.write_text(report(study.of(archive, stocked.run)), encoding="utf-8")
    opened = tab(viewport=DESKTOP, offline=True)
    opened.page.goto(path.as_uri())
    opened.page.locator(f"#node-{stocked.repair}").wait_for()
    assert [url for url in opened.requests if not url.startswith("data:")] == [path.as_uri()]
    assert not opened.inaccessible()
    assert not opened.complaints


# ── what pages must never do ────────────────────────────────────────────────────────────────────

MARKS = """() => {
    const all = [...document.querySelectorAll("*")];
    return all.filter((one) => one.matches("img, iframe, object, embed, form, base, svg[onload]")
            || [...one.attributes].some(({name}) => name.startsWith("on"))
            || /^\\s*(javascript|http:..example)/i.test(one.getAttribute("href") || one.getAttribute("src") || "")
        ).map((one) => one.outerHTML.slice(0, 200));
}"""
"""Elements that no page has of its own accord."""


@pytest.mark.parametrize("viewport", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_names_that_mean_harm_are_shown_and_do_nothing(
    tab: Open, site: Asked, harmful: Hostile, viewport: ViewportSize
) -> None:
    opened = tab(viewport=viewport)
    paths = ["/", f"/problems/{harmful.problem}", f"/runs/{harmful.run}", f"/compare?run={harmful.run}"]
    for path in [*paths, *(f"/kernels/{kernel}" for kernel in harmful.kernels)]:
        opened.page.goto(site.url + path)
        assert opened.page.evaluate(MARKS) == [], path
        assert "<script>alert(1)</script>" in opened.page.locator("main").inner_text(), path
        assert opened.page.evaluate("document.documentElement.scrollWidth") <= viewport["width"], path
        assert not opened.complaints, path
    assert not stray(opened, site)


def test_what_means_harm_does_nothing_in_a_report(tab: Open, harmful: Hostile, tmp_path: Path) -> None:
    path = tmp_path / "run.html"
    with Archive(harmful.path, read_only=True) as archive:
        path.write_text(report(study.of(archive, archive.run(harmful.run))), encoding="utf-8")
    opened = tab(viewport=DESKTOP)
    opened.page.goto(path.as_uri())
    opened.page.locator(f"#node-{harmful.kernels[0]}").wait_for()
    assert opened.page.evaluate(MARKS) == []
    assert "<script>alert(1)</script>" in opened.page.locator("main").inner_text()
    assert not opened.complaints
