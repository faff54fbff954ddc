"""A long run in a real browser: what its page leaves out, and what is laid out only when it is seen."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from benchmarks import large
from tests.pages.conftest import Open
from tests.pages.serving import Asked, serving
from treesearch.archive import Archive
from treesearch.pages import documents

pytestmark = pytest.mark.browser

KERNELS = documents.MOST + 120
VIEWPORTS = {"desktop": {"width": 1280, "height": 900}, "phone": {"width": 360, "height": 740}}
WIDTH = "document.documentElement.scrollWidth"


@dataclass(frozen=True)
class Long:
    """A server with one run, and the address of its page."""

    site: Asked
    url: str


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Long]:
    path = tmp_path_factory.mktemp("long") / "archive.db"
    large.prepare(path, 1, KERNELS, KERNELS)
    with Archive(path, read_only=True) as archive:
        (run,) = archive.runs()
    with serving(path) as site:
        yield Long(site, f"{site.url}/runs/{run.id}")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("device", VIEWPORTS)
def test_it_is_accessible_and_as_wide_as_the_screen(tab: Open, long: Long, device: str, scheme: str) -> None:
    opened = tab(viewport=VIEWPORTS[device], color_scheme=scheme)
    opened.page.goto(long.url)
    opened.page.locator("#lineage-tree [role=treeitem]").first.wait_for()
    assert not opened.inaccessible()
    assert opened.page.evaluate(WIDTH) <= VIEWPORTS[device]["width"]
    assert not opened.complaints


def test_with_scripts_blocked_all_kernels_are_a_link_away(tab: Open, long: Long) -> None:
    opened = tab(java_script_enabled=False)
    opened.page.goto(long.url)
    assert opened.page.locator("#kernels-body tr").count() == documents.MOST
    opened.page.get_by_role("link", name=f"All {KERNELS} kernels").click()
    opened.page.wait_for_url("**/everything")
    assert opened.page.locator("#kernels-body tr").count() == KERNELS


def test_the_tables_end_is_reached_by_scrolling_and_by_the_keyboard(tab: Open, long: Long) -> None:
    shown = tab(viewport=VIEWPORTS["desktop"]).page
    shown.goto(long.url)
    last = shown.locator("#kernels-body tr").last
    last.scroll_into_view_if_needed()
    seen = last.bounding_box()
    assert seen
    assert 0 <= seen["y"] <= 900
    shown.evaluate("scrollTo(0, 0)")
    shown.locator("#kernels-body a").last.focus()
    focused = shown.locator("#kernels-body a:focus").bounding_box()
    assert focused
    assert 0 <= focused["y"] <= 900


def test_rows_that_are_not_laid_out_are_sorted_and_filtered(tab: Open, long: Long) -> None:
    shown = tab(viewport=VIEWPORTS["desktop"]).page
    shown.goto(long.url)
    fastest = shown.locator("#winner code").inner_text()
    shown.locator("#kernels").get_by_role("button", name="time").click()
    assert shown.locator("#kernels-body tr").first.get_attribute("data-kernel") == fastest
    shown.get_by_label("Filter kernels").fill(fastest)
    shown.locator(".table-count", has_text=f"of {documents.MOST} kernels").wait_for()
    assert shown.locator(f"#kernels-body tr[data-kernel='{fastest}']").is_visible()
