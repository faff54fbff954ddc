"""The lineage tree in a real browser: what is shown of it, and what pointer, keys and newer data do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.pages.conftest import Open
from tests.pages.drawn import Json, Site, charts, kernel, page, run, served

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with served(Site()) as site:
        yield site


def drawn(site: Site, tab: Open, data: Json) -> Page:
    site.pages["/run"] = page(charts(data))
    shown = tab().page
    shown.goto(f"{site.url}/run")
    shown.wait_for_selector("#lineage-tree .node")
    return shown


def small() -> Json:
    """A root with two children; the slower one failed and was repaired, and its repair inspired the winner."""
    family = [kernel("root", 0, 9.0), kernel("lost", 1, None, "root")]
    mended = kernel("mended", 1, 7.0, "lost", relation="repairs")
    won = kernel("won", 2, 3.0, "good", inspired_by=["mended", "elsewhere"])
    return run([*family, kernel("good", 1, 5.0, "root"), mended, won], "root", "good", "won")


def large(rounds: int = 5, each: int = 1000) -> Json:
    kernels = []
    for round in range(rounds):
        parent = f"k{round - 1}-0" if round else None
        kernels += [kernel(f"k{round}-{n}", round, 9 - round + n / each, parent) for n in range(each)]
    return run(kernels, *(f"k{round}-0" for round in range(rounds)))


def items(shown: Page) -> Locator:
    return shown.locator("#lineage-tree [role=treeitem]")


def active(shown: Page) -> str | None:
    return shown.locator("#lineage-tree [role=tree]").get_attribute("aria-activedescendant")


def test_the_winning_line_is_straight_and_failures_are_marked(site: Site, tab: Open) -> None:
    shown = drawn(site, tab, small())
    winning = shown.locator("#lineage-tree .node.is-winning")
    assert winning.locator("text.title").all_text_contents() == ["idea root", "idea good", "idea won"]
    assert len({box["y"] for one in winning.locator("path.mark").all() if (box := one.bounding_box())}) == 1
    assert shown.locator("#lineage-tree .node.is-failed text.figures").text_content() == "wrong"


def test_repairs_and_inspirations_are_drawn_differently(site: Site, tab: Open) -> None:
    shown = drawn(site, tab, small())
    assert shown.locator(".tree-links path").count() == 4
    assert shown.locator(".tree-links path.is-repair").count() == 1
    assert shown.locator(".tree-inspirations path").count() == 1


def test_it_is_a_tree_for_those_who_hear_it(site: Site, tab: Open) -> None:
    shown = drawn(site, tab, small())
    told = items(shown).evaluate_all("all => all.map(one => [one.ariaLabel, one.ariaLevel, one.ariaExpanded])")
    assert told[0] == ["winning line, idea root: verified · 9 ms · 0.89× over torch; round 0", "1", "true"]
    assert ["a repair, idea mended: verified · 7 ms · 1.14× over torch; round 1", "3", None] in told


def test_a_click_opens_the_kernel(site: Site, tab: Open) -> None:
    shown = drawn(site, tab, small())
    shown.locator("#lineage-tree .node.is-failed a").click()
    shown.wait_for_url("**/kernels/lost")


def test_the_keyboard_walks_folds_and_opens(site: Site, tab: Open) -> None:
    shown = drawn(site, tab, small())
    shown.locator("#lineage-tree svg").focus()
    for key, node in [("ArrowRight", "good"), ("ArrowDown", "lost"), ("ArrowRight", "mended"), ("ArrowLeft", "lost")]:
        shown.keyboard.press(key)
        assert active(shown) == f"node-{node}"
    shown.keyboard.press("Space")
    assert shown.locator("#node-mended").count() == 0
    shown.keyboard.press("ArrowRight")
    assert shown.locator("#node-mended").count() == 1
    shown.keyboard.press("End")
    shown.keyboard.press("Enter")
    shown.wait_for_url("**/kernels/won")


def test_a_large_tree_begins_with_the_winning_line_and_stays_small_in_the_page(site: Site, tab: Open) -> None:
    shown = drawn(site, tab, large())
    assert shown.locator("[role=treeitem][aria-label^='988 more']").count() == 5
    shown.get_by_role("button", name="Open all").click()
    shown.locator("#lineage-tree svg").focus()
    shown.keyboard.press("Home")
    assert shown.locator("[role=treeitem][aria-label*=' more']").count() == 0
    assert items(shown).count() < 200


def test_the_rest_is_shown_when_asked_for(site: Site, tab: Open) -> None:
    shown = drawn(site, tab, large(rounds=2, each=200))
    shown.locator(".node.is-rest a").first.click()
    shown.locator("#node-k1-12").wait_for(state="attached")
    assert shown.locator(".node.is-rest").count() == 1


def test_newer_data_leaves_folds_place_and_focus_alone(site: Site, tab: Open) -> None:
    shown = drawn(site, tab, small())
    tree = shown.locator("#lineage-tree svg")
    tree.focus()
    for key in ("ArrowRight", "ArrowDown", "Space"):
        shown.keyboard.press(key)
    shown.get_by_role("button", name="Zoom in").click()
    tree.focus()
    view = shown.locator("#lineage-tree svg > g > g").get_attribute("transform")
    more = [*small()["kernels"], kernel("new", 2, 2.0, "good")]
    shown.evaluate("data => treesearch.follow(data)", run(more, "root", "good", "new"))
    shown.locator("#node-new").wait_for(state="attached")
    assert shown.locator("#node-mended").count() == 0
    assert active(shown) == "node-lost"
    assert shown.locator("#lineage-tree svg > g > g").get_attribute("transform") == view
    assert shown.evaluate("document.activeElement.getAttribute('role')") == "tree"
    assert shown.locator("#lineage-tree .node.is-winning").count() == 3


def test_the_fastest_is_found_in_a_folded_tree(site: Site, tab: Open) -> None:
    shown = drawn(site, tab, small())
    shown.locator("#lineage-tree .node.is-winning .toggle").first.click()
    assert items(shown).count() == 1
    shown.get_by_role("button", name="Fastest").click()
    assert active(shown) == "node-won"
    assert shown.locator("#node-won").count() == 1


def test_where_no_kernel_is_in_sight_a_button_leads_to_them(site: Site, tab: Open) -> None:
    line = [kernel(f"k{round}", round, 9.0 - round, f"k{round - 1}" if round else None) for round in range(8)]
    leaves = [kernel(f"leaf{n}", 8, 1.0 + n, "k7") for n in range(60)]
    shown = drawn(site, tab, run([*line, *leaves], *(one["id"] for one in line)))
    hint = shown.get_by_role("button", name="Kernels are further right")
    assert not hint.is_visible()
    shown.locator("#lineage-tree svg").dispatch_event("wheel", {"deltaY": 900})
    hint.click()
    shown.locator(".chart-hint").wait_for(state="hidden")
    box, node = shown.locator("#lineage-tree svg").bounding_box(), shown.locator("#node-leaf30").bounding_box()
    assert box
    assert node
    assert box["x"] <= node["x"] <= box["x"] + box["width"]
