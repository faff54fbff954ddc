"""A real browser for the tests of pages, and what it asked for, said and complained about."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.conftest import CHROMIUM

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Dialog, Page

QUIET = "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
ARGUMENTS = f"{QUIET}--disable-component-update --disable-sync".split()
PATIENCE = 60_000
"""Milliseconds after which what a page waits for does not come: a busy machine is slow."""
AXE = Path(__file__).with_name("axe.min.js")
"""https://github.com/dequelabs/axe-core, 4.14.1, as it was published; its licence is beside it."""


class Tab:
    """A page of a browser with all that it asked for, and all that went wrong there."""

    def __init__(self, context: BrowserContext) -> None:
        self.requests: list[str] = []
        self.complaints: list[str] = []
        """Console warnings and errors, which a violated content policy is too, uncaught exceptions, dialogs."""
        context.set_default_timeout(PATIENCE)
        context.on("request", lambda request: self.requests.append(request.url))
        self.page: Page = context.new_page()
        self.page.on("console", self._said)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("dialog", self._asked)

    def _said(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning", "assert"):
            self.complaints.append(f"{message.type}: {message.text}")

    def _asked(self, dialog: Dialog) -> None:
        self.complaints.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def inaccessible(self) -> list[str]:
        """What axe-core finds wrong with the page as it is now: rule and element."""
        if not self.page.evaluate("'axe' in window"):
            self.page.evaluate(AXE.read_text(encoding="utf-8"))
        found = self.page.evaluate("axe.run(document, {resultTypes: ['violations']})")
        return [f"{rule['id']}: {node['html'][:200]}" for rule in found["violations"] for node in rule["nodes"]]


Open = Callable[..., Tab]


@pytest.fixture(scope="package")
def chromium() -> Iterator[Browser]:
    """One for all tests here, and no longer: while Playwright is awake, asyncio runs in no test of this thread."""
    from playwright.sync_api import sync_playwright  # some machines that test have neither it nor a browser

    program = next(filter(None, map(shutil.which, CHROMIUM)))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=ARGUMENTS, timeout=PATIENCE)
        yield browser
        browser.close()


@pytest.fixture
def tab(chromium: Browser) -> Iterator[Open]:
    """Opens a tab of its own, with options of `Browser.new_context`."""
    contexts: list[BrowserContext] = []

    def opened(**options: Any) -> Tab:
        contexts.append(chromium.new_context(**options))
        return Tab(contexts[-1])

    yield opened
    for context in contexts:
        context.close()
