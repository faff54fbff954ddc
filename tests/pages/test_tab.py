"""The browser that tests of pages use sees what goes wrong, so that a silent page is a good one."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import pytest

from tests.pages import conftest

if TYPE_CHECKING:
    from tests.pages.conftest import Open

SHA256 = "29348999450cdf2849a8e70b7912fc2da85a849da39c0d0d5394f51d4a9ed95c"


@pytest.mark.browser
def test_a_tab_hears_complaints_and_requests(tab: Open) -> None:
    opened = tab()
    opened.page.set_content(
        "<meta http-equiv='Content-Security-Policy' content=\"script-src 'none'\"><img src='http://127.0.0.1:9/x.png'>"
        "<script>alert(1)</script>"
    )
    opened.page.wait_for_load_state("networkidle")
    assert opened.requests == ["http://127.0.0.1:9/x.png"]
    assert any("Content Security Policy" in complaint for complaint in opened.complaints)


@pytest.mark.browser
def test_a_tab_hears_dialogs_and_exceptions(tab: Open) -> None:
    opened = tab()
    opened.page.set_content("<script>alert(1); undefined.x</script>")
    assert opened.complaints[0] == "dialog: 1"
    assert "undefined" in opened.complaints[1]


@pytest.mark.browser
def test_a_tab_finds_what_is_inaccessible(tab: Open) -> None:
    opened = tab()
    opened.page.set_content("<html lang=en><title>A page</title><main><h1>A page</h1><img src='data:,'></main>")
    assert [one.partition(":")[0] for one in opened.inaccessible()] == ["image-alt"]


def test_axe_is_as_it_was_published() -> None:
    assert hashlib.sha256(conftest.AXE.read_bytes()).hexdigest() == SHA256
