"""A real browser for the tests of pages: Chromium without a window, driven by Playwright, and axe for accessibility."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from engine.reports.pdf import found_browser

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


def require_browser() -> str:
    """The path of a Chromium. Skips the test where there is none; fails it in the continuous integration."""
    path = found_browser()
    if path is None or find_spec("playwright") is None:
        if os.environ.get("CI"):
            pytest.fail("the continuous integration runs all tests of pages, and has no Chromium or no playwright")
        pytest.skip("there is no Chromium, or no playwright")
    return path


@contextmanager
def chromium() -> Iterator[Browser]:
    """A browser; pages are of contexts of their own."""
    path = require_browser()
    from playwright.sync_api import sync_playwright

    # as root it starts only without its own sandbox; the pages are ours
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=path, args=[*arguments, "--disable-dev-shm-usage", "--disable-gpu"]
        )
        try:
            yield browser
        finally:
            browser.close()


def violations(page: Page) -> list[tuple[str, Any]]:
    """What axe finds wrong with a page: the rule, and the first element."""
    import axe_playwright_python

    # evaluated by the browser's own protocol, which no policy of the page stops
    page.evaluate(Path(axe_playwright_python.__file__).with_name("axe.min.js").read_text("utf-8"))
    found = page.evaluate("rules => axe.run({runOnly: rules, resultTypes: ['violations']})", RULES)["violations"]
    return [(each["id"], each["nodes"][0]["html"][:200]) for each in found]


def overflow(page: Page) -> int:
    """By how many pixels a page is wider than its window."""
    return max(0, int(page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")))
