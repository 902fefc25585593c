"""The gallery of the inspector: `python -m tests.pictures.gallery FOLDER` takes a picture of each page."""

from __future__ import annotations

import base64
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.browser import chromium
from tests.engine.inspecting import Served, served

from .showcase import showcase

if TYPE_CHECKING:
    from playwright.sync_api import Browser

PAGES = {
    "runs": "/",
    "run": "/run?run=berths",
    "turn": "/turn?run=berths&turn=3",
    "file": "/entry?run=berths&path=harbour/berths.py",
    "entries": "/entries?run=berths",
    "tree": "/tree?run=review",
    "workflow": "/tree?run=release",
    "why": "/why?run=berths&name=harbour/berths.py",
    "record": "/record?run=berths",
    "acts": "/acts?run=berths",
    "costs": "/costs?days=7",
    "proposals": "/proposals",
    "past": "/why?run=berths&name=harbour/berths.py&at=2",
    "sql": "/sql?q=select+run,+turn,+path,+change,+added,+removed,+decided_by+from+file_changes",
}
ALL = {"all-files": "/"}
"""Pages over two files."""
THEMES: dict[str, Any] = {"light": (1280, 800), "dark": (1280, 800), "small": (400, 800)}


def gallery(browser: Browser, file: Path, folder: Path, pages: dict[str, str] = PAGES) -> list[Path]:
    """Write a picture of each page of the showcase `file` in light, dark and at 400 px, as WebP; the paths."""
    with served(file) as server, served(file, file.with_name("copy.db")) as several:
        shutil.copyfile(file, file.with_name("copy.db"))
        return [
            *_taken(browser, server, folder, pages),
            *_taken(browser, several, folder, ALL),
        ]


def _taken(browser: Browser, server: Served, folder: Path, pages: dict[str, str]) -> Iterator[Path]:
    for theme, (width, height) in THEMES.items():
        scheme: Any = "dark" if theme == "dark" else "light"
        with browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme) as context:
            page = context.new_page()
            page.goto(server.address)
            for name, address in pages.items():
                page.goto(server.url + address)
                assert page.locator(".problem").count() == 0, address
                page.wait_for_selector("#live.on")
                taken = context.new_cdp_session(page).send("Page.captureScreenshot", {"format": "webp", "quality": 72})
                path = folder / f"{name}-{theme}.webp"
                path.write_bytes(base64.b64decode(taken["data"]))
                yield path


def main(folder: Path) -> None:
    """Write the gallery into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="gallery-") as place, chromium() as browser:
        gallery(browser, showcase(Path(place)), folder)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
